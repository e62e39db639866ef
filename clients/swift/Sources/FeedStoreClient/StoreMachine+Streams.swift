import Foundation

/// A stream of many feeds to one instance.
struct StreamState {
  enum Phase {
    case idle
    /// The callback is asked for a token.
    case asking
    case connecting
    case open
    /// It failed or ended, and connects again.
    case waiting
  }

  /// A view that the server was asked for.
  typealias Entry = (view: String, feed: FeedID, follow: Int)

  let server: Int
  /// The wanted entries.
  var follows: [Int] = []
  /// The entries that the server follows.
  var sent: [Entry] = []
  /// The entries of the request that began it.
  var listed: [Int] = []
  var phase = Phase.idle
  var request: Int?
  /// Changes with each attempt.
  var attempt = 0
  /// Its id, which comes with the first event.
  var name: String?
  /// When the first event arrived, and the last byte.
  var since: Milliseconds?
  var heard = 0
  var token: String?
  var failures = 0
  /// The wait that the server asks for.
  var retry = StoreMachine.firstWait
  /// The standing that it gives its follows.
  var trouble: Standing?
  var isPatching = false
  /// Whether a token was refused in this attempt.
  var wasRefused = false

  init(server: Int) { self.server = server }
}

/// The life of streams.
extension StoreMachine {
  /// Brings a stream to what it should follow.
  mutating func update(_ number: Int) {
    guard let stream = streams[number] else { return }
    if !stream.follows.contains(where: { follows[$0]?.fault == nil }) {
      close(number)
      if stream.follows.isEmpty { streams[number] = nil }
    } else if stream.phase == .idle {
      connect(number)
    } else {
      patch(number)
    }
  }

  mutating func close(_ number: Int) {
    guard var stream = streams[number] else { return }
    if let request = stream.request { abort(request) }
    cancel(.late(stream: number), .silence(stream: number), .wait(stream: number))
    (stream.phase, stream.request, stream.name, stream.since) = (.idle, nil, nil, nil)
    (stream.isPatching, stream.sent) = (false, [])
    stream.attempt += 1
    streams[number] = stream
    for follow in stream.follows {
      let order = follows[follow]?.places[stream.server]?.order ?? 0
      follows[follow]?.places[stream.server] = Follow.Place(stream: number, order: order)
    }
  }

  mutating func connect(_ number: Int, after refusal: (former: String?, detail: String)? = nil) {
    close(number)
    streams[number]?.phase = .asking
    set(.late(stream: number), Self.lateAfter)
    listen(number)
    set(.silence(stream: number), Self.silence)
    withToken(.stream(number, attempt: streams[number]?.attempt ?? 0, refusal: refusal))
  }

  /// Opens a stream, now that there is a token.
  mutating func open(_ number: Int, _ token: String?, _ error: String?) {
    if let error { return fail(number, .tokenNeeded, "there is no token: \(error)") }
    guard let stream = streams[number] else { return }
    let members = stream.follows.filter { follows[$0]?.fault == nil }
    for member in members {
      let wanted = follows[member]?.wanted
      follows[member]?.places[stream.server]?.asked = wanted
      follows[member]?.isMisfit = false
      cancelRefetch(member)
    }
    let sent = members.compactMap { member in follows[member].map { ($0.view, $0.feed, member) } }
    streams[number]?.sent = sent
    let entries = members.compactMap { follows[$0]?.entry }
    let (url, body) = (
      url(of: stream.server, "/v1/streams"), "{\"feeds\":[\(entries.joined(separator: ","))]}"
    )
    let call = Call(method: "POST", url: url, body: body, token: token, isStream: true)
    streams[number]?.phase = .connecting
    streams[number]?.token = token
    streams[number]?.listed = members
    let request = send(call, .stream(number))
    streams[number]?.request = request
  }

  mutating func late(_ number: Int) {
    guard let stream = streams[number] else { return }
    let isAsking = stream.phase == .asking
    let name = isAsking ? "the token's callback" : servers[stream.server].absoluteString
    let detail = "\(name) has not answered for 10 s"
    streams[number]?.trouble = .stale(isAsking ? .tokenNeeded : .disconnected, detail: detail)
  }

  private mutating func listen(_ number: Int) {
    let now = now
    streams[number]?.heard = now
  }

  /// Some bytes of a stream have arrived.
  mutating func heard(_ request: Int) {
    if case .stream(let number) = requests[request] { listen(number) }
  }

  mutating func streamAnswered(_ number: Int, _ answer: Answer) {
    guard let stream = streams[number] else { return }
    guard let status = answer.status else {
      return fail(number, .disconnected, answer.problem.detail)
    }
    cancel(.late(stream: number))
    if answer.isStream {
      streams[number]?.phase = .open
      streams[number]?.trouble = nil
      tokens.accept(stream.token)
      listen(number)
    } else {
      refused(number, stream, status, answer.problem)
    }
  }

  private mutating func refused(_ number: Int, _ stream: StreamState, _ status: Int, _ problem: HTTPProblem) {
    if status == 401 {
      let isEarly = tokens.refuse(stream.token, problem, now)
      if isEarly, tokens.inUse(now) != nil { return connect(number) }
      if tokens.hasCallback, !isEarly, stream.failures == 0, !stream.wasRefused {
        // Another token may be there already.
        streams[number]?.wasRefused = true
        return connect(number, after: (stream.token, problem.detail))
      }
    } else if status == 400, refuseEntry(problem, "feeds", stream.listed) {
      return close(number)
    } else {
      tokens.accept(stream.token)
    }
    fail(number, Self.reason(status), problem.detail, after: problem.retryAfter)
  }

  private static func reason(_ status: Int?) -> Standing.Reason {
    switch status {
    case nil: .disconnected
    case 401: .tokenNeeded
    case 403: .forbidden
    case 429: .unavailable
    case .some(400..<500): .badRequest
    default: .unavailable
    }
  }

  /// Leaves out the entry that a request was refused for, such as `feeds[2].first`; returns whether there is one.
  private mutating func refuseEntry(_ problem: HTTPProblem, _ name: String, _ members: [Int]) -> Bool {
    for (index, member) in members.enumerated()
    where problem.member?.hasPrefix("\(name)[\(index)]") == true {
      follows[member]?.fault = problem.detail
      return true
    }
    return false
  }

  /// A stream has ended, or did not begin: it is opened again, at once if it lasted, or after a wait.
  mutating func fail(
    _ number: Int,
    _ reason: Standing.Reason,
    _ detail: String? = nil,
    after: Milliseconds = 0,
    isAtOnce: Bool = false
  ) {
    guard let stream = streams[number] else { return }
    let isSteady = stream.since.map { now - $0 >= Self.steady } ?? false
    close(number)
    let own = min(stream.retry << min(stream.failures, 16), Self.maxWait)
    let delay = isSteady || isAtOnce ? after : max(own, after)
    // Not exactly as long as other clients.
    let spread = max(Double(delay) / 4, after > 0 ? Self.leastSpread : isSteady ? Self.atOnce : 0)
    let wait = delay + Milliseconds(random() * spread)
    if !isSteady, !isAtOnce { streams[number]?.failures += 1 }
    streams[number]?.phase = .waiting
    streams[number]?.wasRefused = false
    let until = Date(timeIntervalSince1970: Double(now + wait) / 1000)
    streams[number]?.trouble = .stale(reason, detail: detail, until: until)
    set(.wait(stream: number), wait)
    for member in stream.follows where follows[member]?.home == stream.server {
      let isOnlyPlace = ownServers == 1 && stream.server == 0 && follows[member]?.named.isEmpty == true
      if !isOnlyPlace { follows[member]?.home = nil }
    }
    change()
  }

  /// Tries streams that wait at once, and opens one again that has been silent.
  mutating func reconnect() {
    for number in streams.keys.sorted() {
      guard let stream = streams[number] else { continue }
      if stream.phase == .waiting {
        streams[number]?.failures = 0
        connect(number)
      } else if stream.phase == .open, now - stream.heard >= Self.idle {
        fail(number, .disconnected, isAtOnce: true)
      }
    }
    change()
  }

  // Changes of an open stream.

  private mutating func patch(_ number: Int) {
    guard let stream = streams[number], stream.phase == .open, let name = stream.name, !stream.isPatching
    else { return }
    let wanted = stream.follows.filter { follows[$0]?.fault == nil }
    let added = wanted.filter { follows[$0]?.places[stream.server]?.asked != follows[$0]?.wanted }
    let removed = stream.sent.filter { entry in
      !wanted.contains(entry.follow) || follows[entry.follow]?.view != entry.view
    }
    let isNewer = tokens.token != nil && tokens.token != stream.token
    guard !added.isEmpty || !removed.isEmpty || isNewer else { return }
    var patch = Exchange.Patch(stream: number, request: stream.request, added: [], sent: stream.sent)
    streams[number]?.isPatching = true
    streams[number]?.sent.removeAll { entry in removed.contains { $0.follow == entry.follow } }
    for member in added {
      guard let follow = follows[member], let place = follow.places[stream.server] else { continue }
      let isChange = place.asked != nil && place.notice != .forbidden
      patch.added.append((member, place.asked, isChange))
      follows[member]?.places[stream.server]?.asked = follow.wanted
      if isChange { follows[member]?.places[stream.server]?.changes += 1 }
      if streams[number]?.sent.contains(where: { $0.follow == member }) == false {
        streams[number]?.sent.append((follow.view, follow.feed, member))
      }
    }
    let entries = added.compactMap { follows[$0]?.entry }
    let names = removed.map { "{\"feed\":\(JSONValue.quoted($0.feed.rawValue)),\"view\":\"\($0.view)\"}" }
    let lists = [
      entries.isEmpty ? nil : "\"add\":[\(entries.joined(separator: ","))]",
      names.isEmpty ? nil : "\"remove\":[\(names.joined(separator: ","))]",
    ]
    let body = "{\(lists.compactMap { $0 }.joined(separator: ","))}"
    let url = url(of: stream.server, "/v1/streams/\(name)")
    begin(.patch(patch), Call(method: "PATCH", url: url, body: body))
  }

  mutating func patched(_ patch: Exchange.Patch, _ token: String?, _ answer: Answer, _ isEarly: Bool) {
    guard let stream = streams[patch.stream], stream.request == patch.request else { return }
    streams[patch.stream]?.isPatching = false
    if answer.status == 200 {
      streams[patch.stream]?.token = token
      return
    }
    streams[patch.stream]?.sent = patch.sent
    for (member, former, isChange) in patch.added {
      follows[member]?.places[stream.server]?.asked = former
      if isChange, follows[member]?.places[stream.server]?.changes ?? 0 > 0 {
        follows[member]?.places[stream.server]?.changes -= 1
      }
    }
    if isEarly, tokens.inUse(now) != nil { return renewLater() }
    if answer.status == 400, refuseEntry(answer.problem, "add", patch.added.map(\.follow)) { return }
    // A stream that the server does not know has ended.
    let reason = answer.status == 404 ? .disconnected : Self.reason(answer.status)
    fail(patch.stream, reason, answer.problem.detail, after: answer.problem.retryAfter)
  }
}
