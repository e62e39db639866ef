import Foundation

/// The life of streams.
extension StoreMachine {
  /// Brings a stream to what it should follow.
  mutating func update(_ number: Int) {
    guard let stream = streams[number] else { return }
    guard !stream.members.isEmpty else {
      effects.append(.disconnect(Connection(stream: number, attempt: stream.attempt)))
      effects.append(.cancelTimer(.reconnect(stream: number)))
      effects.append(.cancelTimer(.renewToken(stream: number)))
      streams[number] = nil
      return
    }
    switch stream.phase {
    case .idle: connect(number)
    case .open(id: .some) where !stream.isPatching: patch(number)
    // What has changed goes with the next connection, or follows the answer.
    case .waiting(let until):
      for member in stream.members.values where follows[member]?.shown.standing == .connecting {
        failed(member, of: number, .disconnected(until: until))
      }
    case .open, .connecting: break
    }
  }

  private mutating func connect(_ number: Int) {
    guard var stream = streams[number] else { return }
    stream.attempt += 1
    stream.phase = .connecting
    (stream.isPatching, stream.since) = (false, nil)
    (stream.sent, stream.ignored) = ([:], [])
    streams[number] = stream
    let connection = Connection(stream: number, attempt: stream.attempt)
    if !hasTokens {
      connect(connection, token: nil)
    } else if let held = tokens.held(now()) {
      connect(connection, token: held)
    } else {
      effects.append(.askToken(connection))
    }
  }

  private mutating func connect(_ connection: Connection, token: String?) {
    guard let stream = streams[connection.stream] else { return }
    streams[connection.stream]?.token = token
    streams[connection.stream]?.isTokenRefused = false
    let members = stream.members.filter { follows[$0.value]?.isRefused == false }.sorted {
      $0.value < $1.value
    }
    streams[connection.stream]?.listed = members.map(\.key)
    for (feed, member) in members { send(feed, member, connection.stream) }
    let entries = members.compactMap { follows[$0.value]?.entry }
    effects.append(
      .connect(connection, url(stream), body: "{\"feeds\":[\(entries.joined(separator: ","))]}", token: token)
    )
    for (_, member) in members { follows[member]?.needsReload = false }
  }

  /// Notes what a server is asked for in a new stream.
  private mutating func send(_ feed: FeedID, _ member: Int, _ stream: Int) {
    guard let window = follows[member]?.window else { return }
    streams[stream]?.sent[feed] = window
    follows[member]?.serverWindow = window
    follows[member]?.askedWindows = []
    // Without a version, whatever comes is taken.
    if follows[member]?.version == nil { follows[member]?.replica.expectReload() }
  }

  private func url(_ stream: StreamState, _ id: String? = nil) -> URL {
    url(of: stream.server, "/v1/streams" + (id.map { "/\($0)" } ?? ""))
  }

  private mutating func renew(_ number: Int, least: Double = 0) {
    guard hasTokens, let token = streams[number]?.token,
      let seconds = BearerToken.renewal(of: token, now: now())
    else {
      return
    }
    effects.append(.setTimer(.renewToken(stream: number), seconds: max(seconds, least)))
  }

  mutating func tokenArrived(_ connection: Connection, _ answer: Result<String?, any Error>) {
    guard let stream = streams[connection.stream], stream.attempt == connection.attempt else { return }
    switch (stream.phase, answer) {
    // Without a newer token, the present one stays in use until it ends.
    case (.connecting, .failure) where tokens.inUse(now()) != nil,
      (.connecting, .success(nil)) where tokens.inUse(now()) != nil:
      connect(connection, token: tokens.inUse(now()))
    case (.connecting, .success(let token)):
      if stream.isTokenRefused, stream.failures == 1, token == stream.token {
        // Asked at once, and still the same.
        return fail(connection.stream) { _ in .tokenNeeded("the token was refused, and there is no other one")
        }
      }
      connect(connection, token: token)
    case (.connecting, .failure(let error)):
      fail(connection.stream) { _ in .tokenNeeded("there is no token: \(error)") }
    case (.open(id: .some(let id)), .success(.some(let token))) where token != stream.token:
      streams[connection.stream]?.token = token
      effects.append(.patch(connection, url(stream, id), body: "{}", token: token))
      streams[connection.stream]?.isPatching = true
      renew(connection.stream)
    // Nothing newer: the stream ends with the token, and connects again with what there is then.
    default: break
    }
  }

  /// Asks an open stream for what has changed.
  private mutating func patch(_ number: Int) {
    guard let stream = streams[number], case .open(id: .some(let id)) = stream.phase else { return }
    var (removed, added): ([FeedID], [(feed: FeedID, member: Int)]) = ([], [])
    for feed in stream.sent.keys where stream.members[feed] == nil { removed.append(feed) }
    for (feed, member) in stream.members {
      guard let follow = follows[member] else { continue }
      if follow.needsReload || stream.ignored.contains(feed), stream.sent[feed] != nil {
        removed.append(feed)
        added.append((feed, member))
      } else if stream.sent[feed] != follow.window {
        added.append((feed, member))
      }
    }
    guard !removed.isEmpty || !added.isEmpty else { return }
    removed.sort { $0.rawValue < $1.rawValue }
    added.sort { $0.member < $1.member }
    for feed in removed { streams[number]?.sent[feed] = nil }
    streams[number]?.ignored = []
    streams[number]?.listed = added.map(\.feed)
    for (feed, member) in added {
      if let window = follows[member]?.window, stream.sent[feed] != nil, !removed.contains(feed) {
        streams[number]?.sent[feed] = window
        follows[member]?.askedWindows.append(window)
        setStanding(of: member, .catchingUp)
      } else {
        send(feed, member, number)
      }
    }
    let ids = removed.map { JSONValue.quoted($0.rawValue) }
    let entries = added.compactMap { follows[$0.member]?.entry }
    for (_, member) in added { follows[member]?.needsReload = false }
    let lists = [
      entries.isEmpty ? nil : "\"add\":[\(entries.joined(separator: ","))]",
      ids.isEmpty ? nil : "\"remove\":[\(ids.joined(separator: ","))]",
    ]
    streams[number]?.isPatching = true
    let connection = Connection(stream: number, attempt: stream.attempt)
    let body = "{\(lists.compactMap { $0 }.joined(separator: ","))}"
    effects.append(.patch(connection, url(stream, id), body: body, token: stream.token))
  }

  /// The answer to a PATCH; without a problem it was taken.
  mutating func patched(_ connection: Connection, _ problem: HTTPProblem?) {
    guard let stream = streams[connection.stream], stream.attempt == connection.attempt,
      case .open = stream.phase
    else { return }
    streams[connection.stream]?.isPatching = false
    // A newer token is not valid yet, and the stream goes on with the one before.
    if let problem, tokens.answered(stream.token, problem, now: now()), let token = tokens.inUse(now()) {
      streams[connection.stream]?.token = token
      renew(connection.stream, least: HeldTokens.pause)
      return update(connection.stream)
    }
    guard let problem else {
      _ = tokens.answered(stream.token, nil, now: now())
      for (feed, member) in stream.members where stream.sent[feed] != nil {
        if follows[member]?.shown.standing == .connecting { setStanding(of: member, .catchingUp) }
      }
      return update(connection.stream)
    }
    effects.append(.disconnect(connection))
    if problem.code == "unknown-stream" {
      fail(connection.stream, isImmediate: true) { .disconnected(until: $0) }
    } else {
      refused(connection, problem)
    }
  }

  mutating func opened(_ connection: Connection) {
    guard let stream = streams[connection.stream], stream.attempt == connection.attempt,
      case .connecting = stream.phase
    else {
      return
    }
    streams[connection.stream]?.phase = .open(id: nil)
    if hasTokens { _ = tokens.answered(stream.token, nil, now: now()) }
    for member in stream.members.values where follows[member]?.shown.standing != .live {
      setStanding(of: member, .catchingUp)
    }
  }

  /// The stream's id, and what it wishes.
  mutating func named(_ connection: Connection, id: String, retry: Double?) {
    guard streams[connection.stream]?.attempt == connection.attempt else { return }
    streams[connection.stream]?.phase = .open(id: id)
    streams[connection.stream]?.since = now()
    streams[connection.stream]?.failures = 0
    renew(connection.stream)
    if let retry { streams[connection.stream]?.retry = min(retry, Self.maxDelay) }
    update(connection.stream)
  }

  /// A response that is not a stream.
  mutating func refused(_ connection: Connection, _ problem: HTTPProblem) {
    guard let stream = streams[connection.stream], stream.attempt == connection.attempt else { return }
    let detail = problem.detail
    switch problem.status {
    case 401 where tokens.answered(stream.token, problem, now: now()):
      let isAtOnce = tokens.inUse(now()) != nil
      fail(connection.stream, after: problem.retryAfter, isAtOnce: isAtOnce) { _ in .tokenNeeded(detail) }
    case 401:
      streams[connection.stream]?.isTokenRefused = true
      fail(connection.stream, after: problem.retryAfter, isImmediate: hasTokens) { _ in .tokenNeeded(detail) }
    case 403: fail(connection.stream, after: problem.retryAfter) { _ in .forbidden(detail) }
    case 400..<500:
      // One window that is not valid does not stop the others.
      if let feed = refusedFeed(stream, problem.member), let member = stream.members[feed] {
        follows[member]?.isRefused = true
        change(member)
        setStanding(of: member, .stale(.badRequest(detail)))
        fail(connection.stream, isImmediate: true) { .disconnected(until: $0) }
      } else {
        fail(connection.stream, after: problem.retryAfter) { _ in .badRequest(detail) }
      }
    default: fail(connection.stream, after: problem.retryAfter) { _ in .unavailable(detail) }
    }
  }

  /// The feed that `member` means, such as `feeds[2].first` or `add[0].count`.
  private func refusedFeed(_ stream: StreamState, _ member: String?) -> FeedID? {
    guard let member, let open = member.firstIndex(of: "["), let close = member.firstIndex(of: "]"),
      open < close,
      let index = Int(member[member.index(after: open)..<close]), ["feeds", "add"].contains(member[..<open])
    else { return nil }
    return stream.listed.indices.contains(index) ? stream.listed[index] : nil
  }

  /// The connection was lost, or the stream has ended.
  mutating func ended(_ connection: Connection) {
    guard let stream = streams[connection.stream], stream.attempt == connection.attempt else { return }
    if case .waiting = stream.phase { return }
    if stream.isTokenRefused {
      fail(connection.stream, isImmediate: true) { _ in .forbidden("the token has ended") }
    } else {
      let isSteady = stream.since.map { now().timeIntervalSince($0) >= Self.steadySeconds } ?? false
      fail(connection.stream, isAtOnce: isSteady) { .disconnected(until: $0) }
    }
  }

  /// Waits before the next attempt, longer and longer, and not exactly as long as other clients.
  private mutating func fail(
    _ number: Int,
    after: Double = 0,
    isImmediate: Bool = false,
    isAtOnce: Bool = false,
    _ reason: (Date) -> Standing.Reason
  ) {
    guard let stream = streams[number] else { return }
    var seconds = 0.0
    if isAtOnce {
      seconds = random() * Self.atOnceSeconds
    } else if !isImmediate || stream.failures > 0 {
      let own = min(stream.retry * pow(2, Double(stream.failures)), max(Self.maxDelay, stream.retry))
      let delay = max(own, after)
      seconds = delay + random() * max(delay / 4, after > 0 ? Self.leastSpread : 0)
    }
    let until = now().addingTimeInterval(seconds)
    streams[number]?.failures = isAtOnce ? 0 : min(stream.failures + 1, 16)
    streams[number]?.phase = .waiting(until: until)
    streams[number]?.isPatching = false
    effects.append(.cancelTimer(.renewToken(stream: number)))
    effects.append(.setTimer(.reconnect(stream: number), seconds: seconds))
    for member in stream.members.values.sorted() {
      if servers.count > 1 {
        if follows[member]?.home == stream.server { follows[member]?.home = nil }
        if follows[member]?.hint == stream.server { follows[member]?.hint = nil }
        follows[member]?.absentAt.remove(stream.server)
        change(member)
      }
      failed(member, of: number, reason(until))
    }
  }

  /// Marks a follow as outdated, unless another instance may send it.
  private mutating func failed(_ member: Int, of stream: Int, _ reason: Standing.Reason) {
    guard let follow = follows[member], !follow.isRefused else { return }
    let isElsewhere = follow.streams.values.contains { other in
      guard other != stream, case .open = streams[other]?.phase else { return false }
      return true
    }
    setStanding(of: member, isElsewhere ? .catchingUp : .stale(reason))
  }

  mutating func fired(_ timer: Timer) {
    switch timer {
    case .flush: flush()
    case .reconnect(let number):
      guard let stream = streams[number], case .waiting = stream.phase else { return }
      streams[number]?.phase = .idle
      update(number)
    case .renewToken(let number):
      guard let stream = streams[number], case .open = stream.phase else { return }
      let connection = Connection(stream: number, attempt: stream.attempt)
      if let coming = tokens.coming(now()) {
        tokenArrived(connection, .success(coming))
      } else {
        effects.append(.askToken(connection))
      }
    case .refetch(let number):
      follows[number]?.needsReload = true
      change(number)
    case .look(let write): look(write)
    case .send(let write): if let feed = feed(sending: write) { post(feed) }
    }
  }
}
