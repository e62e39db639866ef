import FeedClient

/// The changes of views for requests without a stream.
extension StreamDelivery {
  /// How long a window stays open after a request for its changes: longer than a client needs to ask again.
  private static let leaseMilliseconds: Int64 = 60_000

  /// Treats a window as open for a while, without a reader.
  ///
  /// - Returns: whether it was not, so that the caller must keep its window open.
  mutating func lease(_ view: ViewAddress, at now: Int64) -> Bool {
    if self[view] == nil { feeds[view.feed, default: StreamedFeed()].views[view.window] = StreamedView() }
    return leases.updateValue(now + Self.leaseMilliseconds, forKey: view) == nil
  }

  /// - Returns: the views whose windows the caller must close.
  mutating func endLeases(at now: Int64) -> [ViewAddress] {
    let ended = leases.filter { $0.value <= now }.map(\.key)
    for view in ended {
      leases[view] = nil
      removeUnused(view)
    }
    return ended
  }

  /// The changes after a version as lines of JSON; see ``FeedStreams/changes(of:after:)``.
  ///
  /// - Parameter current: the view's standing, which includes everything delivered so far.
  func changes(
    of view: ViewAddress,
    after version: FeedVersion,
    limit: Int,
    _ current: ViewStanding?
  ) -> (lines: [UInt8], version: FeedVersion?)? {
    if let current, current.includes(version) {
      guard let streamed = self[view], let totals = streamed.totals, let changed = streamed.totalsVersion,
        changed.epoch == version.epoch, changed.revision > version.revision
      else { return ([], nil) }
      let line = StreamNotice.windowText(view.feed.id, current.version, totals)
      return (line + "\n".utf8, current.version)
    }
    // A reader of another instance may be ahead.
    if let now = current?.version, now.epoch == version.epoch, now.revision < version.revision { return ([], nil) }
    guard let missed = history.changesets(of: view, after: version) else { return nil }
    var (lines, reached): ([UInt8], FeedVersion?) = ([], nil)
    for changeset in missed {
      let texts = changeset.texts(for: reached ?? version)
      guard lines.count + texts.reduce(0, { $0 + $1.count + 1 }) <= limit else { break }
      for text in texts {
        // Outside of strings, and only there, JSON may have line breaks.
        lines += text.contains { $0 == 0x0A || $0 == 0x0D } ? text.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 } : text
        lines.append(0x0A)
      }
      reached = changeset.version
    }
    // A changeset beyond the limit is replaced by the state.
    return missed.isEmpty || reached != nil ? (lines, reached) : nil
  }
}
