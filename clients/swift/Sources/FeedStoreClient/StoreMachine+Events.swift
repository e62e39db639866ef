import Foundation

/// What streams say of feeds.
extension StoreMachine {
  mutating func received(_ connection: Connection, _ event: StreamEvent) {
    guard let stream = streams[connection.stream], stream.attempt == connection.attempt else { return }
    if event.name == "message" { return apply(event.data, connection, stream) }
    guard let object = JSONObject(try? JSONText(checking: event.data)), let feed = object["feed"]?.string,
      let number = stream.members[FeedID(feed)], stream.sent[FeedID(feed)] != nil
      // What was sent of a feed before it was removed still arrives.
    else { return }
    guard isHome(stream.server, of: number) else {
      streams[connection.stream]?.ignored.insert(FeedID(feed))
      return
    }
    let reason = object["reason"]?.string ?? ""
    switch event.name {
    case "up-to-date":
      if object["partition"] != nil { settle(number, at: stream.server) }
      if follows[number]?.home == stream.server || follows[number]?.isAbsent == true {
        setStanding(of: number, .live)
      }
    case "window":
      guard follows[number]?.home == stream.server else { return }
      follows[number]?.take(WindowTotal.list(object["window"]))
      tell(number, .standing)
    case "must-refetch":
      // Of a window that was asked for, nothing was missed.
      let isMissed = follows[number]?.askedWindows.isEmpty ?? true
      follows[number]?.expectReload()
      if isMissed { setStanding(of: number, .stale(.mustRefetch)) }
    case "moved": moved(number, from: stream.server, to: object["url"]?.string.flatMap(URL.init(string:)))
    case "absent": absent(number, at: stream.server)
    case "forbidden":
      if reason == "token-expired" { streams[connection.stream]?.isTokenRefused = true }
      setStanding(of: number, .stale(.forbidden(reason)))
    default: break
    }
  }

  private mutating func apply(_ text: String, _ connection: Connection, _ stream: StreamState) {
    guard let changeset = try? Changeset(text) else {
      // It cannot be told which feed that is, so all of them are asked for again.
      effects.append(.disconnect(connection))
      return ended(connection)
    }
    guard let number = stream.members[changeset.feed], stream.sent[changeset.feed] != nil else { return }
    guard isHome(stream.server, of: number) else {
      streams[connection.stream]?.ignored.insert(changeset.feed)
      return
    }
    settle(number, at: stream.server)
    let wasStale = follows[number]?.replica.isStale ?? false
    switch follows[number]?.replica.take(changeset) {
    case .applied(let change): applied(number, change)
    case .removed: deleted(number)
    // What does not fit while a reload is awaited was sent before it.
    case .gap, .otherEpoch: if !wasStale { refetch(number) }
    case .mismatch: refetch(number)
    case .skipped, .waiting, .none: break
    }
  }

  /// Whether an instance has a feed, or may have it.
  private func isHome(_ server: Int, of number: Int) -> Bool {
    guard let home = follows[number]?.home else { return true }
    return home == server
  }

  /// Notes which instance has a feed; the others are not asked for it any more.
  private mutating func settle(_ number: Int, at server: Int) {
    guard follows[number]?.home != server else { return }
    follows[number]?.home = server
    follows[number]?.hint = nil
    follows[number]?.absentAt = []
    if servers.count > 1 { change(number) }
  }

  private mutating func applied(_ number: Int, _ change: FeedChange) {
    guard var follow = follows.removeValue(forKey: number) else { return }
    // Taken out, so that the state is not copied because of the dictionary.
    let hadPending = follow.shown.isPending || !follow.pending.isEmpty
    follow.confirmed = follow.replica.view
    follow.isAbsent = false
    if change.mode == .reload {
      follow.stateWindow = follow.askedWindows.isEmpty ? follow.serverWindow : nil
    } else {
      follow.refetches = 0
    }
    follow.dropConfirmed(isNewer: true)
    follow.overlay()
    follows[number] = follow
    tell(number, change.mode == .reload ? .state : hadPending ? .pending : .changed(change))
  }

  private mutating func deleted(_ number: Int) {
    follows[number]?.becomeAbsent()
    tell(number, .absent)
  }

  /// A changeset did not fit: the feed is asked for again, after growing pauses if that repeats.
  private mutating func refetch(_ number: Int) {
    guard let follow = follows[number] else { return }
    follows[number]?.refetches = min(follow.refetches + 1, 16)
    follows[number]?.replica.expectReload()
    setStanding(of: number, .stale(.mustRefetch))
    let pause = follow.refetches == 0 ? 0 : min(pow(2, Double(follow.refetches - 1)), Self.maxDelay)
    effects.append(.setTimer(.refetch(follow: number), seconds: pause * (1 + random() / 4)))
  }

  private mutating func moved(_ number: Int, from server: Int, to url: URL?) {
    let other = url.map { self.server(at: $0) }
    follows[number]?.absentAt = []
    follows[number]?.home = other == server ? nil : other
    follows[number]?.hint = nil
    setStanding(of: number, .stale(.moved))
    change(number)
  }

  private mutating func absent(_ number: Int, at server: Int) {
    guard let follow = follows[number] else { return }
    follows[number]?.absentAt.insert(server)
    follows[number]?.home = nil
    change(number)
    let asked = follows[number]?.places(servers: servers.count, own: ownServers) ?? []
    guard asked.isSubset(of: follows[number]?.absentAt ?? []) else { return }
    let isNews = !follow.isAbsent
    follows[number]?.becomeAbsent()
    follows[number]?.shown.standing = .live
    if isNews { tell(number, .absent) }
  }
}

extension Follow {
  fileprivate mutating func take(_ totals: [WindowTotal]) {
    replica.setTotals(totals)
    confirmed.state = replica.view.state
    overlay()
  }

  /// The next changeset is a reload, perhaps of the next window that was asked for.
  fileprivate mutating func expectReload() {
    replica.expectReload()
    if !askedWindows.isEmpty { serverWindow = askedWindows.removeFirst() }
  }

  fileprivate mutating func becomeAbsent() {
    _ = replica.remove()
    confirmed = replica.view
    isAbsent = true
    dropConfirmed(isNewer: true)
    overlay()
  }
}
