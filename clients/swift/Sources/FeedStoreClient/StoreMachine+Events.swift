import Foundation

/// What streams say of feeds.
extension StoreMachine {
  /// An event of a stream.
  ///
  /// - Parameter retry: How long the server wishes a client to wait.
  mutating func received(_ request: Int, _ event: StreamEvent, retry: Milliseconds?) {
    guard case .stream(let number) = requests[request] else { return }
    guard let object = JSONObject(try? JSONText(checking: event.data)) else {
      // Its view is unknown.
      return fail(number, .disconnected, "an event is not JSON")
    }
    if event.name != "message" { areStandingsKnown = false }
    if let retry { streams[number]?.retry = retry }
    streams[number]?.failures = 0
    streams[number]?.wasRefused = false
    let now = now
    if streams[number]?.since == nil { streams[number]?.since = now }
    guard let stream = streams[number] else { return }
    if event.name == "stream" {
      streams[number]?.name = object["stream"]?.string
      return change()
    }
    let view = object["view"]?.string
    guard let member = stream.follows.first(where: { follows[$0]?.view == view }),
      let follow = follows[member], let place = follow.places[stream.server], place.asked != nil
      // Messages of a view that was removed still arrive.
    else { return }
    if event.name == "forbidden" {
      edit(member, stream.server) { ($0.changes, $0.notice, $0.isUpToDate) = (0, .forbidden, false) }
      if object["reason"]?.string == "token-expired" { _ = tokens.refuse(stream.token, nil, now) }
    } else if event.name == "must-refetch", place.changes > 0 {
      edit(member, stream.server) { ($0.changes, $0.notice, $0.isUpToDate) = ($0.changes - 1, nil, false) }
    } else if place.changes == 0, place.asked == follow.wanted, [nil, stream.server].contains(follow.home) {
      take(event.name, object, member, stream.server)
    }
  }

  private mutating func edit(_ number: Int, _ server: Int, _ change: (inout Follow.Place) -> Void) {
    guard var place = follows[number]?.places[server] else { return }
    change(&place)
    follows[number]?.places[server] = place
  }

  private mutating func take(_ name: String, _ object: JSONObject, _ number: Int, _ server: Int) {
    let isAwaited = follows[number]?.expectsReload ?? true
    switch name {
    case "absent", "moved":
      edit(number, server) { ($0.notice, $0.isUpToDate) = (name == "moved" ? .moved : .absent, false) }
      // Another instance may have been asked with the version.
      if follows[number]?.home == server { follows[number]?.expectReload(isMisfit: false) }
      follows[number]?.home = nil
      follows[number]?.isMisfit = false
      if let url = object["url"]?.string.flatMap(URL.init(string:)) {
        let other = self.server(at: url)
        let isKnown = other < ownServers || follows[number]?.named.contains(other) == true
        if !isKnown { follows[number]?.named.append(other) }
      }
      becomeAbsent(number)
      return change()
    case "must-refetch":
      // Another instance may have been asked with the version.
      if follows[number]?.home == server { follows[number]?.expectReload(isMisfit: true) }
      return edit(number, server) { $0.isUpToDate = false }
    case "message":
      // Until a reload, everything else is of a state that the follow does not have.
      let mode = object["mode"]?.string
      if isAwaited && mode != "reload" && mode != "delete" { return }
      if mode == "delete" && follows[number]?.isAbsent == true { return }
    case "up-to-date": if isAwaited && object["partition"] != nil { return }
    case "window": if isAwaited { return }
    default: return
    }
    if follows[number]?.home == nil {
      follows[number]?.home = server
      follows[number]?.named = []
      change()
    }
    if follows[number]?.places[server]?.notice != nil { edit(number, server) { $0.notice = nil } }
    if name == "message" { return take(object, number) }
    if name == "up-to-date" { edit(number, server) { $0.isUpToDate = true } }
    guard let epoch = object["epoch"]?.string, let revision = object["revision"]?.count, !isAwaited else {
      return
    }
    follows[number]?.known = (epoch, revision)
    let totals = WindowTotal.list(object["window"])
    if !totals.isEmpty { follows[number]?.take(totals) }
    refresh(number, totals.isEmpty ? .pending : .standing)
  }

  private mutating func take(_ object: JSONObject, _ number: Int) {
    guard let changeset = try? Changeset(object), changeset.feed == follows[number]?.feed else {
      return misfit(number)
    }
    if changeset.mode == .delete { return deleted(number) }
    switch follows[number]?.replica.take(changeset) {
    case .applied(let change): applied(number, change)
    case .gap, .otherEpoch, .mismatch: misfit(number)
    case .skipped, .waiting, .removed, .none: break
    }
  }

  private mutating func applied(_ number: Int, _ change: FeedChange) {
    guard let feed = follows[number]?.feed, let view = follows[number]?.replica.view else { return }
    follows[number]?.confirmed = view
    follows[number]?.known = (change.epoch, change.revision)
    follows[number]?.isAbsent = false
    // This is what writes without an offset wait for.
    for index in (writes[feed] ?? []).indices where writes[feed]![index].awaitsNext {
      writes[feed]![index].ends[number] = 0
    }
    if change.mode == .reload {
      areStandingsKnown = false
      follows[number]?.expectsReload = false
      follows[number]?.isMisfit = false
      cancelRefetch(number)
    } else {
      follows[number]?.refetches = 0
    }
    refresh(number, change.mode == .reload ? .state : .changed(change))
  }

  /// A changeset did not fit: the feed is asked for again, after growing pauses if that repeats.
  private mutating func misfit(_ number: Int) {
    guard let follow = follows[number] else { return }
    areStandingsKnown = false
    follows[number]?.expectReload(isMisfit: true)
    guard !follow.isRefetching else { return }
    let pause = follow.refetches == 0 ? 0 : min(1000 << min(follow.refetches - 1, 16), Self.maxWait)
    follows[number]?.refetches = follow.refetches + 1
    follows[number]?.isRefetching = true
    set(.refetch(follow: number), pause + Milliseconds(random() * Double(pause) / 4))
  }

  mutating func cancelRefetch(_ number: Int) {
    if follows[number]?.isRefetching == true { cancel(.refetch(follow: number)) }
    follows[number]?.isRefetching = false
  }

  mutating func deleted(_ number: Int) {
    guard let follow = follows[number] else { return }
    areStandingsKnown = false
    follows[number]?.expectReload(isMisfit: false)
    cancelRefetch(number)
    guard !follow.isAbsent else { return }
    follows[number]?.becomeAbsent()
    refresh(number, .absent)
  }

  /// There is no such feed, unless it is moving: the instance that gets it says for a while that there is none.
  private mutating func becomeAbsent(_ number: Int) {
    guard let follow = follows[number], follow.isNowhere(ownServers) else { return }
    if follow.places.values.contains(where: { $0.notice == .moved }) {
      set(.moving(follow: number), Self.moving)
    } else {
      deleted(number)
    }
  }
}

extension Follow {
  fileprivate mutating func take(_ totals: [WindowTotal]) {
    replica.setTotals(totals)
    confirmed.state = replica.view.state
  }

  fileprivate mutating func becomeAbsent() {
    _ = replica.remove()
    confirmed = replica.view
    (isAbsent, known) = (true, nil)
  }
}
