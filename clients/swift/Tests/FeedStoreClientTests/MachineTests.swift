import Foundation
import Testing

@testable import FeedStoreClient

/// The machine without input and output: time is a value.
struct MachineTests {
  private final class Clock: @unchecked Sendable { var now = Date(timeIntervalSince1970: 1000) }
  private let clock = Clock()

  private func machine(_ urls: [String] = ["http://one"], hasTokens: Bool = false) -> StoreMachine {
    let clock = clock
    return StoreMachine(
      servers: urls.compactMap { URL(string: $0) },
      hasTokens: hasTokens,
      now: { clock.now },
      random: { 1 }
    )
  }

  private func followed(_ machine: inout StoreMachine, _ feeds: Int = 1) -> [Connection] {
    for number in 0..<feeds { _ = machine.listen(machine.add(FeedID("f\(number)"), .all).handle) }
    machine.flush()
    return connections(machine.takeEffects())
  }

  private func connections(_ effects: [StoreMachine.Effect]) -> [Connection] {
    effects.compactMap { if case .connect(let connection, _, _, _) = $0 { connection } else { nil } }
  }

  private func delay(_ effects: [StoreMachine.Effect]) -> Double? {
    effects.compactMap { if case .setTimer(.reconnect, let seconds) = $0 { seconds } else { nil } }.last
  }

  @Test func `the pauses between attempts grow up to half a minute`() {
    var machine = machine()
    var connection = followed(&machine)[0]
    var delays: [Double] = []
    for _ in 0..<6 {
      machine.ended(connection)
      delays.append(delay(machine.takeEffects()) ?? -1)
      machine.fired(.reconnect(stream: connection.stream))
      connection = connections(machine.takeEffects())[0]
    }
    // A quarter is the most that chance adds.
    #expect(delays == [3.75, 7.5, 15, 30, 37.5, 37.5])
    machine.opened(connection)
    machine.named(connection, id: "s", retry: 1)
    machine.ended(connection)
    #expect(delay(machine.takeEffects()) == 1.25)
    // What the earlier attempts still say does not count.
    machine.ended(Connection(stream: connection.stream, attempt: 1))
    #expect(delay(machine.takeEffects()) == nil)
  }

  @Test func `Retry-After counts if it is longer`() {
    var machine = machine()
    let connection = followed(&machine)[0]
    var problem = HTTPProblem(status: 503, detail: "starting")
    problem.retryAfter = 60
    machine.refused(connection, problem)
    // A quarter more, and at least 1.5 s, so that clients do not all come back in the same moment.
    #expect(delay(machine.takeEffects()) == 75)
    machine = self.machine()
    problem.retryAfter = 2
    machine.refused(followed(&machine)[0], problem)
    #expect(delay(machine.takeEffects()) == 4.5)
    let texts = [
      "7", "", "-7", "nan", "inf", "1e9", "Sat, 1 Jan 2000 00:00:00 GMT", String(repeating: "9", count: 400),
    ]
    let seconds = texts.map {
      HTTPProblem(status: 503, headers: ["retry-after": $0], body: Data()).retryAfter
    }
    #expect(seconds == [7, 0, 0, 0, 0, 0, 0, 300])
  }

  @Test func `a stream that had events for five seconds is opened again at once`() {
    var machine = machine()
    var connection = followed(&machine)[0]
    for (lasts, expected) in [(5.0, 0.05), (4.9, 3.75), (600, 0.05)] {
      machine.opened(connection)
      // A while without an event does not count.
      clock.now += 100
      machine.named(connection, id: "s", retry: nil)
      clock.now += lasts
      machine.ended(connection)
      #expect(delay(machine.takeEffects()) == expected)
      machine.fired(.reconnect(stream: connection.stream))
      connection = connections(machine.takeEffects())[0]
    }
    machine.ended(connection)
    #expect(delay(machine.takeEffects()) == 3.75)
  }

  private func asked(_ effects: [StoreMachine.Effect]) -> Connection? {
    effects.compactMap { if case .askToken(let connection) = $0 { connection } else { nil } }.last
  }

  private func sentTokens(_ effects: [StoreMachine.Effect]) -> [String?] {
    effects.compactMap {
      switch $0 {
      case .connect(_, _, _, let token), .patch(_, _, _, let token): token
      default: nil
      }
    }
  }

  private let early = HTTPProblem(status: 401, detail: "the token is not valid yet")

  private func token(from start: Double = 0, to end: Double, _ name: String = "") -> String {
    "x.\(Data("{\"nbf\":\(start),\"exp\":\(end),\"n\":\"\(name)\"}".utf8).base64EncodedString()).x"
  }

  @Test(arguments: [false, true]) func `a token that is not valid yet is kept, and sent again`(
    _ isKnown: Bool
  ) {
    var machine = machine(hasTokens: true)
    let first = token(from: isKnown ? 2000 : 0, to: 5000)
    let problem = isKnown ? HTTPProblem(status: 401, detail: "no") : early
    _ = machine.listen(machine.add("f", .all).handle)
    machine.flush()
    var connection = asked(machine.takeEffects())!
    machine.tokenArrived(connection, .success(first))
    for expected in [3.75, 7.5] {
      _ = machine.takeEffects()
      machine.refused(connection, problem)
      #expect(delay(machine.takeEffects()) == expected)
      machine.fired(.reconnect(stream: connection.stream))
      let effects = machine.takeEffects()
      #expect(asked(effects) == nil && sentTokens(effects) == [first])
      connection = connections(effects)[0]
    }
    machine.opened(connection)
    machine.named(connection, id: "s", retry: nil)
    machine.ended(connection)
    machine.fired(.reconnect(stream: connection.stream))
    connection = asked(machine.takeEffects())!
    // The one that was accepted stays in use while the next one is not valid yet.
    machine.tokenArrived(connection, .success("next"))
    machine.refused(connection, early)
    #expect(delay(machine.takeEffects()) == 0.05)
    machine.fired(.reconnect(stream: connection.stream))
    #expect(sentTokens(machine.takeEffects()) == [first])
    #expect(machine.tokens.held(clock.now) == first)
    clock.now += 4500
    #expect(machine.tokens.held(clock.now) == nil)
  }

  @Test func `without a newer token the present one stays in use until it ends`() {
    for answer in [Result<String?, any Error>.success(nil), .failure(CancellationError())] {
      var machine = machine(hasTokens: true)
      _ = machine.listen(machine.add("f", .all).handle)
      machine.flush()
      var connection = asked(machine.takeEffects())!
      let first = token(to: clock.now.timeIntervalSince1970 + 100)
      machine.tokenArrived(connection, .success(first))
      for expected in [first, nil] {
        machine.opened(connection)
        machine.named(connection, id: "s", retry: nil)
        machine.ended(connection)
        machine.fired(.reconnect(stream: connection.stream))
        connection = asked(machine.takeEffects())!
        if expected == nil { clock.now += 100 }
        machine.tokenArrived(connection, answer)
        #expect((sentTokens(machine.takeEffects()).last ?? nil) == expected)
      }
    }
  }

  @Test func `a token that never becomes valid is replaced after five minutes`() {
    var machine = machine(hasTokens: true)
    _ = machine.listen(machine.add("f", .all).handle)
    machine.flush()
    let connection = asked(machine.takeEffects())!
    machine.tokenArrived(connection, .success("one"))
    machine.refused(connection, early)
    clock.now += 299
    #expect(machine.tokens.held(clock.now) == "one")
    clock.now += 1
    machine.fired(.reconnect(stream: connection.stream))
    #expect(asked(machine.takeEffects()) != nil)
  }

  @Test func `a renewed token that is not valid yet does not disturb the stream`() {
    var machine = machine(hasTokens: true)
    _ = machine.listen(machine.add("f", .all).handle)
    machine.flush()
    let connection = asked(machine.takeEffects())!
    let (old, new) = (token(to: 2000), token(to: 3000))
    machine.tokenArrived(connection, .success(old))
    machine.opened(connection)
    machine.named(connection, id: "s", retry: nil)
    func renewal() -> Double? {
      machine.takeEffects().compactMap {
        if case .setTimer(.renewToken, let seconds) = $0 { seconds } else { nil }
      }.last
    }
    #expect(renewal() == 970)
    clock.now += 999
    machine.fired(.renewToken(stream: connection.stream))
    #expect(asked(machine.takeEffects()) == connection)
    machine.tokenArrived(connection, .success(new))
    #expect(sentTokens(machine.takeEffects()) == [new])
    machine.patched(connection, early)
    #expect(renewal() == 1)
    #expect(machine.streams.values.first?.token == old)
    machine.fired(.renewToken(stream: connection.stream))
    let effects = machine.takeEffects()
    #expect(asked(effects) == nil && sentTokens(effects) == [new])
    machine.patched(connection, nil)
    #expect(machine.tokens.held(clock.now) == nil && machine.tokens.inUse(clock.now) == new)
  }

  @Test func `a write whose token is not valid yet is sent again, for half a minute`() {
    var machine = machine(hasTokens: true)
    let id = machine.write(FeedEvent.delete("i").text, machine.add("f", .all).handle, wait: 0)
    for _ in 0..<StoreMachine.maxRefusals {
      _ = machine.takeEffects()
      let isSent = machine.sendLater(id)
      #expect(isSent)
      guard case .setTimer(.send(id), 1) = machine.takeEffects().first else {
        Issue.record("it is not sent later")
        return
      }
      machine.fired(.send(id))
      guard case .post(id, _, _, _) = machine.takeEffects().first else {
        Issue.record("it is not sent")
        return
      }
    }
    let isSent = machine.sendLater(id)
    #expect(!isSent)
  }

  @Test func `a stream has at most 256 feeds, and each once`() {
    var machine = machine()
    #expect(followed(&machine, 300).count == 2)
    let windows = [FeedWindow.first(1), .first(2), .first(3)]
    for window in windows { _ = machine.listen(machine.add("f0", window).handle) }
    machine.flush()
    #expect(machine.streams.count == 4)
    for stream in machine.streams.values { #expect(stream.members.count <= 256) }
  }

  @Test func `a token that was refused and is still the same is not sent again at once`() {
    var machine = machine(hasTokens: true)
    let handle = machine.add("f", .all).handle
    _ = machine.listen(handle)
    machine.flush()
    let first = asked(machine.takeEffects())!
    machine.tokenArrived(first, .success("old"))
    _ = machine.takeEffects()
    machine.refused(first, HTTPProblem(status: 401, detail: "no"))
    #expect(delay(machine.takeEffects()) == 0)
    machine.fired(.reconnect(stream: first.stream))
    let second = asked(machine.takeEffects())!
    machine.tokenArrived(second, .success("old"))
    let effects = machine.takeEffects()
    #expect(connections(effects).isEmpty)
    #expect(delay(effects) == 7.5)
    // Later it is: the server may accept it by now.
    machine.fired(.reconnect(stream: first.stream))
    machine.tokenArrived(asked(machine.takeEffects())!, .success("old"))
    #expect(connections(machine.takeEffects()).count == 1)
  }

  @Test func `tokens are renewed half a minute before their end`() {
    let now = Date(timeIntervalSince1970: 1000)
    #expect(BearerToken.renewal(of: token(to: 1100), now: now) == 70)
    #expect(BearerToken.renewal(of: token(to: 1040), now: now) == 20)
    #expect(BearerToken.renewal(of: token(to: 900), now: now) == 0)
    #expect(BearerToken.renewal(of: "secret", now: now) == nil)
    #expect(BearerToken.renewal(of: "a.b.c", now: now) == nil)
  }

  private func live(_ machine: inout StoreMachine) -> (HandleID, Connection) {
    let handle = machine.add("f", .all).handle
    _ = machine.listen(handle)
    machine.flush()
    let connection = connections(machine.takeEffects())[0]
    machine.opened(connection)
    machine.named(connection, id: "s", retry: nil)
    machine.received(connection, StreamEvent(name: "message", data: reload))
    machine.received(connection, StreamEvent(name: "up-to-date", data: "{\"feed\":\"f\",\"partition\":0}"))
    _ = machine.takeEffects()
    return (handle, connection)
  }

  private let reload =
    "{\"feed\":\"f\",\"epoch\":\"e\",\"revision\":1,\"base\":1,\"mode\":\"reload\",\"time\":\"\",\"through\":{},\"checksum\":\"00000000\"}"

  @Test func `a state is asked for again at once, then after 1, 2 and 4 seconds and more`() {
    var machine = machine()
    let (_, connection) = live(&machine)
    let gap =
      "{\"feed\":\"f\",\"epoch\":\"e\",\"revision\":9,\"base\":8,\"mode\":\"diff\",\"time\":\"\",\"through\":{},\"checksum\":\"00000000\"}"
    var pauses: [Double] = []
    for _ in 0..<8 {
      machine.received(connection, StreamEvent(name: "message", data: gap))
      pauses += machine.takeEffects().compactMap {
        if case .setTimer(.refetch, let seconds) = $0 { seconds } else { nil }
      }
      machine.received(connection, StreamEvent(name: "message", data: reload))
      machine.received(connection, StreamEvent(name: "up-to-date", data: "{\"feed\":\"f\",\"partition\":0}"))
    }
    #expect(pauses == [0, 1, 2, 4, 8, 16, 30, 30].map { $0 * 1.25 })
  }

  @Test(arguments: [
    (202, ",\"offset\":5"), (202, ""), (200, ",\"offset\":5,\"epoch\":\"e\",\"revision\":9"),
  ]) func `what nothing covers is shown for a minute in which the feed is live`(
    _ status: Int,
    _ more: String
  )
    throws
  {
    var machine = machine()
    let (handle, connection) = live(&machine)
    let id = machine.write(FeedEvent.delete("i").text, handle, wait: 0)
    let answer = "{\"topic\":\"t\",\"partition\":0\(more)}"
    machine.answered(id, status, JSONObject(try JSONText(checking: answer)), nil)
    func pass(_ seconds: Double) {
      for _ in 0..<Int(seconds / StoreMachine.lookSeconds) {
        let looks = machine.takeEffects().compactMap {
          if case .setTimer(.look(let id), _) = $0 { id } else { nil }
        }
        #expect(looks == [id])
        machine.fired(.look(id))
      }
    }
    func pending() -> Int? { machine.follows.values.first?.pending.count }
    pass(30)
    machine.received(connection, StreamEvent(name: "must-refetch", data: "{\"feed\":\"f\"}"))
    pass(600)
    machine.received(connection, StreamEvent(name: "up-to-date", data: "{\"feed\":\"f\",\"partition\":0}"))
    pass(25)
    #expect(pending() == 1)
    pass(5)
    #expect(pending() == 0)
    let effects = machine.takeEffects()
    guard effects.count == 1, case .show(handle, let update) = effects[0], case .pending = update.kind else {
      Issue.record("\(effects)")
      return
    }
  }

  @Test func `a write goes to the instance that has the feed, or otherwise to one that is connected`() {
    var machine = machine(["http://one", "http://two"])
    let open = followed(&machine).last!
    let other = machine.add("f0", .first(1)).handle
    func host() -> String? {
      let id = machine.write(FeedEvent.delete("i").text, other, wait: 0)
      machine.answered(id, nil, nil, nil)
      return machine.takeEffects().compactMap {
        if case .post(_, let url, _, _) = $0 { url.host } else { nil }
      }.last
    }
    #expect(host() == "one")
    machine.opened(open)
    #expect(host() == "two")
    machine.received(open, StreamEvent(name: "moved", data: "{\"feed\":\"f0\",\"url\":\"http://three\"}"))
    #expect(host() == "three")
  }

  @Test func `the writes of a feed are sent one after the other`() {
    var machine = machine()
    let (one, other) = (machine.add("f", .all).handle, machine.add("g", .all).handle)
    func write(_ handle: HandleID) -> WriteID {
      machine.write(FeedEvent.delete("i").text, handle, wait: 0)
    }
    func posted() -> [WriteID] {
      machine.takeEffects().compactMap { if case .post(let id, _, _, _) = $0 { id } else { nil } }
    }
    let (first, second, third, elsewhere) = (write(one), write(one), write(one), write(other))
    #expect(posted() == [first, elsewhere])
    machine.answered(first, 422, nil, HTTPProblem(status: 422, detail: "no"))
    #expect(posted() == [second])
    machine.answered(second, nil, nil, nil)
    #expect(posted() == [third])
    machine.answered(third, 202, nil, nil)
    #expect(posted() == [])
  }

  @Test func `only a write that was sent may be published`() {
    var machine = machine()
    let handle = machine.add("f", .all).handle
    machine.remove(handle)
    _ = machine.write(FeedEvent.delete("i").text, handle, wait: 0)
    guard case .finish(_, .failure(let error)) = machine.takeEffects().last else {
      Issue.record("it is taken")
      return
    }
    #expect("\(error)" == "the feed is closed; nothing was written")
  }

  @Test func `writes that are not confirmed are bounded`() {
    var machine = machine()
    let (handle, _) = live(&machine)
    func outcome(_ effects: [StoreMachine.Effect]) -> Result<Written, any Error>? {
      effects.compactMap { if case .finish(_, let result) = $0 { result } else { nil } }.last
    }
    let event = FeedEvent.upsert("i", section: "s", data: 1).text
    for _ in 0..<StoreMachine.maxPendingWrites {
      _ = machine.write(event, handle, wait: 0)
      #expect(outcome(machine.takeEffects()) == nil)
    }
    _ = machine.write(event, handle, wait: 0)
    guard case .failure(let error) = outcome(machine.takeEffects()) else {
      Issue.record("it is taken")
      return
    }
    #expect((error as? WriteRejected)?.code == "too-many-pending")
    // Also of a feed that is not followed.
    let other = machine.add("g", .all).handle
    for _ in 0...StoreMachine.maxPendingWrites { _ = machine.write(event, other, wait: 0) }
    guard case .failure = outcome(machine.takeEffects()) else {
      Issue.record("it is taken")
      return
    }
  }

  @Test func `ids are encoded for paths`() {
    #expect(StoreMachine.encoded("a/b ü.~-_%") == "a%2Fb%20%C3%BC.~-_%25")
    #expect(StoreMachine.encoded("..") == "%2E%2E")
  }
}
