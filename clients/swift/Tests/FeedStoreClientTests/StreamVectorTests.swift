import Foundation
import Testing

@testable import FeedStoreClient

/// Runs the vectors of clients: time is a value, and so is everything that servers say.
final class StreamVector {
  private final class Clock: @unchecked Sendable { var now = 0 }
  private let clock = Clock()
  private var machine: StoreMachine
  private var handles: [String: HandleID] = [:]
  private var names: [WriteID: String] = [:]
  private var timers: [StoreMachine.Timer: (due: Milliseconds, number: Int)] = [:]
  private var lastTimer = 0
  private var (shown, noted, standings) = ([String: String](), [String: String](), [String: JSONValue]())
  private var store: JSONValue = ["name": "live"]
  private var streams: Set<Int> = []
  private var then: [String: JSONValue] = [:]

  init(_ line: JSONObject) {
    machine = StoreMachine(
      servers: (line["urls"]?.elements ?? []).compactMap { $0.string.flatMap(URL.init(string:)) },
      hasTokens: line["hasToken"] != nil,
      clock: { [clock] in clock.now },
      random: { 0 }
    )
  }

  /// The output since the step before.
  func step(_ step: JSONObject) throws -> [String: JSONValue] {
    then = [:]
    let at = try #require(step["at"]?.count)
    runTimers(until: at)
    for input in step["do"]?.elements ?? [] { try take(try #require(JSONObject(input))) }
    machine.flush()
    perform()
    runTimers(until: at)
    note()
    return then
  }

  private func runTimers(until end: Milliseconds) {
    while let (timer, next) = timers.min(by: {
      ($0.value.due, $0.value.number) < ($1.value.due, $1.value.number)
    }),
      next.due <= end
    {
      timers[timer] = nil
      clock.now = max(clock.now, next.due)
      machine.fired(timer)
      perform()
    }
    clock.now = end
  }

  private func perform() {
    for effect in machine.takeEffects() {
      switch effect {
      case .askToken: then["tokenAsks"] = .integer((then["tokenAsks"]?.integer ?? 0) + 1)
      case .send(let number, let call):
        if call.isStream { streams.insert(number) }
        var request: [String: JSONValue] = [
          "request": .integer(number), "method": .string(call.method),
          "url": .string(call.url.absoluteString),
        ]
        request["body"] = call.body.flatMap { try? JSONValue(text: $0) }
        request["token"] = call.token.map(JSONValue.string)
        request["wait"] = call.wait > 0 ? .integer(call.wait) : nil
        append("requests", .object(request))
      case .abort(let number): if streams.contains(number) { append("aborted", .integer(number)) }
      case .setTimer(.flush, _): break
      case .setTimer(let timer, let milliseconds):
        lastTimer += 1
        timers[timer] = (clock.now + milliseconds, lastTimer)
      case .cancelTimer(let timer): timers[timer] = nil
      case .show(let handle, let update): show(handle, update)
      case .finish(let id, let result): finish(id, result)
      case .standing(let standing): store = value(standing)
      }
    }
  }

  private func append(_ name: String, _ value: JSONValue) {
    then[name] = .array((then[name]?.array ?? []) + [value])
  }

  private func set(_ name: String, _ key: String, _ value: JSONValue) {
    then[name] = .object((then[name]?.object ?? [:]).merging([key: value]) { $1 })
  }

  private func show(_ handle: HandleID, _ update: FeedUpdate) {
    guard let name = handles.first(where: { $0.value == handle })?.key else { return }
    // `changed(…)` has a value.
    let kind = "\(update.kind)".prefix { $0 != "(" }
    if kind == "standing" { return }
    // An update of a pending write that shows the same.
    let totals = update.view.sections.map { "\($0.from)/\($0.of)" }
    let text = "\(update.view.state.document) \(update.view.isPending) \(totals)"
    if kind == "pending", shown[name] == text { return }
    shown[name] = text
    let kinds = then["updates"]?[name]?.array ?? []
    set("updates", name, .array(kinds + [.string(String(kind))]))
  }

  private func finish(_ id: WriteID, _ result: Result<Written, any Error>) {
    switch result {
    case .success(let written):
      var members: [String: JSONValue] = [
        "feed": .string(written.feed.rawValue), "topic": .string(written.topic),
        "partition": .integer(written.partition),
      ]
      members["offset"] = written.offset.map(JSONValue.integer)
      members["epoch"] = written.epoch.map(JSONValue.string)
      members["revision"] = written.revision.map(JSONValue.integer)
      members["changed"] = written.changed.map(JSONValue.bool)
      set("writes", names[id]!, ["written": .object(members)])
    case .failure(let error as WriteRejected): set("writes", names[id]!, ["rejected": .string(error.code)])
    case .failure(let error as WriteFailed):
      let code = error.code.map(JSONValue.string) ?? .null
      set("writes", names[id]!, ["failed": code, "isSent": .bool(error.wasSent)])
    case .failure(let error): Issue.record("\(error)")
    }
  }

  private func value(_ standing: Standing) -> JSONValue {
    let name = ["live", "catching-up", "connecting", "stale"][standing.severity]
    var members: [String: JSONValue] = ["name": .string(name)]
    members["reason"] = standing.reason.map { .string($0.rawValue) }
    members["detail"] = standing.detail.map(JSONValue.string)
    members["until"] = standing.until.map { .integer(Int(($0.timeIntervalSince1970 * 1000).rounded())) }
    return .object(members)
  }

  private func content(_ view: FeedView) -> JSONValue {
    guard view.exists else { return .null }
    let items = view.sections.flatMap { $0.items.map { JSONValue.string($0.id.rawValue) } }
    var members: [String: JSONValue] = ["revision": .integer(view.revision ?? 0), "items": .array(items)]
    if view.isPending { members["isPending"] = true }
    return .object(members)
  }

  /// Notes standings and contents that differ from the step before.
  private func note() {
    if store != standings[""] ?? ["name": "live"] { then["store"] = store }
    standings[""] = store
    for (name, handle) in handles {
      guard let view = machine.shown(by: handle)?.shown else { continue }
      let standing = value(view.standing)
      if standings[name] != standing { set("standings", name, standing) }
      standings[name] = standing
      let text = content(view).text
      if noted[name] != text { set("shown", name, content(view)) }
      noted[name] = text
    }
  }

  private func take(_ input: JSONObject) throws {
    defer { perform() }
    if let name = input["follow"]?.string {
      let (handle, view) = machine.add(
        FeedID(input["feed"]?.string ?? ""),
        FeedWindow(JSONObject(input["window"]))
      )
      handles[name] = handle
      (shown[name], noted[name], standings[name]) = (nil, "null", nil)
      let isAbsent = machine.listen(handle)
      if view.exists || isAbsent { show(handle, FeedUpdate(kind: isAbsent ? .absent : .state, view: view)) }
    } else if let name = input["show"]?.string {
      machine.show(try #require(handles[name]), FeedWindow(JSONObject(input["window"])))
    } else if let name = input["leave"]?.string, let handle = handles.removeValue(forKey: name) {
      machine.unlisten(handle)
      machine.remove(handle)
    } else if let name = input["write"]?.string {
      let id = machine.write(
        try #require(input["events"]).compactText,
        FeedID(input["feed"]?.string ?? ""),
        wait: input["wait"]?.count ?? 10,
        key: input["coalesce"]?.string
      )
      names[id] = name
    } else if let token = input["token"] {
      machine.tokenArrived(.success(token.string))
    } else if let text = input["tokenError"]?.string {
      machine.tokenArrived(.failure(TestEnded(what: text)))
    } else if let token = input["setToken"] {
      machine.setToken(token.string)
    } else if input["reconnect"] != nil {
      machine.reconnect()
    } else if input["close"] != nil {
      machine.close()
      handles = [:]
    } else if let number = input["answer"]?.count {
      let status = try #require(input["status"]?.count)
      let retry = JSONObject(input["headers"])?["Retry-After"]?.string ?? ""
      let body = input["json"]?.text ?? ""
      let problem = HTTPProblem(status: status, headers: ["retry-after": retry], body: Data(body.utf8))
      var answer = Answer(status: status, object: JSONObject(input["json"]), problem: problem)
      answer.isStream = streams.contains(number) && status == 200 && input["json"] == nil
      machine.answered(number, answer)
    } else if let number = input["event"]?.count {
      machine.heard(number)
      let event = StreamEvent(name: input["name"]?.string ?? "", data: input["data"]?.string ?? "")
      machine.received(number, event, retry: input["retry"]?.count)
    } else if let number = input["comment"]?.count {
      machine.heard(number)
    } else if let number = input["end"]?.count ?? input["fail"]?.count {
      machine.answered(number, Answer(problem: HTTPProblem(status: 0, detail: "lost")))
    }
  }
}

/// Whether a value has what a vector says. A detail must contain that of the vector.
func isAsExpected(_ found: JSONValue?, _ expected: JSONValue?, _ name: String = "") -> Bool {
  switch (found, expected) {
  case (.object(let found), .object(let expected)):
    let isComplete = Set(found.keys).subtracting(["detail"]) == Set(expected.keys).subtracting(["detail"])
    return isComplete && expected.allSatisfy { isAsExpected(found[$0.key], $0.value, $0.key) }
  case (.array(let found), .array(let expected)):
    return found.count == expected.count && zip(found, expected).allSatisfy { isAsExpected($0, $1) }
  case (.string(let found), .string(let expected)) where name == "detail": return found.contains(expected)
  default: return found == expected
  }
}

@Suite(.enabled(if: Checkout.hasVectors)) struct StreamVectorTests {
  @Test(arguments: Checkout.vectors("stream")) func `the machine passes every vector of clients`(
    _ name: String
  ) throws {
    for line in try Checkout.lines(name) {
      let vector = StreamVector(line)
      for text in try #require(line["steps"]?.elements) {
        let step = try #require(JSONObject(text))
        let found = JSONValue.object(try vector.step(step))
        let expected = try JSONValue(text: try #require(step["then"]).text)
        guard !isAsExpected(found, expected) else { continue }
        Issue.record(
          "\(line["title"]?.string ?? ""), at \(step["at"]?.text ?? ""), \(step["do"]?.text.prefix(300) ?? "")\nexpected \(expected.text)\nfound    \(found.text)"
        )
        break
      }
    }
  }
}
