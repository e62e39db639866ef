/// A feed as it was published and as it is now, and what this window did to it.
struct OracleFeedState: Sendable, Equatable {
  var published: OraclePublished?
  /// Nil: the feed does not exist.
  var current: OracleFeed?
  var forced = OracleForced()
  var placements = OraclePlacements()
  /// The record that last brought the feed into being in this window, `topic/offset`.
  var born: String?
  /// Newest offsets and greatest timestamp of this window's records, rejected ones left out.
  var taken: [String: Int] = [:]
  var time: Int?
  /// Newest offsets of earlier windows, whether or not a changeset says so.
  var remembered: [String: Int] = [:]

  /// The previous changeset's `through`, raised by this window's records.
  var through: [String: Int] {
    (published?.through ?? [:]).merging(taken) { max($0, $1) }
  }

  /// The newest records taken so far, published or not: they are not applied again.
  var newest: [String: Int] { through.merging(remembered) { max($0, $1) } }

  var isChanged: Bool { published?.feed != current || !forced.isEmpty }

  /// Notes a record that was applied, even if it did nothing.
  mutating func take(_ record: OracleRecord) {
    taken[record.topic] = max(record.offset, taken[record.topic] ?? record.offset)
    time = max(record.timestamp, time ?? record.timestamp)
  }

  /// The change this window amounts to, if any; the window is over then.
  mutating func flush(_ key: OracleFeedKey) -> OracleChange? {
    guard isChanged, let time, let epoch = published?.epoch ?? born else {
      self = OracleFeedState(published: published, current: current, remembered: newest)
      return nil
    }
    let base = published?.revision ?? 0
    let change = OracleChange(
      key: key,
      epoch: epoch,
      revision: base + 1,
      base: base,
      time: time,
      through: through,
      before: published?.feed,
      after: current,
      forced: forced,
      placements: placements
    )
    let next = current.map { feed in
      OraclePublished(feed: feed, epoch: epoch, revision: base + 1, through: through)
    }
    self = OracleFeedState(published: next, current: current, remembered: newest)
    return change
  }
}
