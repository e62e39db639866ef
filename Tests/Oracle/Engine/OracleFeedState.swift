/// A feed's published and current state, and the effects of this window.
struct OracleFeedState: Sendable, Equatable {
  var published: OraclePublished?
  /// nil if the feed does not exist.
  var current: OracleFeed?
  var forced = OracleForced()
  var placements = OraclePlacements()
  /// The record that last created the feed in this window, as `topic:timestamp/offset`.
  var born: String?
  /// The newest offsets and the greatest timestamp of this window's records, without rejected ones.
  var taken: [String: Int] = [:]
  var time: Int?
  /// The newest offsets of earlier windows, whether or not a changeset has them.
  var remembered: [String: Int] = [:]

  /// The previous changeset's `through`, advanced by this window's records.
  var through: [String: Int] {
    (keeps(.throughStays) ? published?.through ?? [:] : [:]).merging(taken) { max($0, $1) }
  }

  /// The newest records taken so far, published or not. They are not applied again.
  var newest: [String: Int] { through.merging(remembered) { max($0, $1) } }

  var isChanged: Bool {
    published?.feed != current || !forced.isEmpty
      || current != nil && !taken.isEmpty && !keeps(.oncePerFlush)
  }

  /// Records an applied record, even if it changed nothing.
  mutating func take(_ record: OracleRecord) {
    if !keeps(.throughNeverFalls), let old = published?.through[record.topic], record.offset < old {
      published?.through[record.topic] = record.offset
      taken[record.topic] = nil
    }
    let offset = taken[record.topic] ?? record.offset
    taken[record.topic] = keeps(.throughIsGreatest) ? max(record.offset, offset) : record.offset
    time = keeps(.timeIsGreatest) ? max(record.time, time ?? record.time) : record.time
  }

  /// Ends the window. Returns its change, if any.
  mutating func flush(_ key: OracleFeedKey) -> OracleChange? {
    let lasting = keeps(.recreatedIsDifference) ? published?.epoch ?? born : born ?? published?.epoch
    guard isChanged, let time, let epoch = lasting else {
      let taken = keeps(.unpublishedWindow) ? [:] : taken
      self = OracleFeedState(published: published, current: current, taken: taken, remembered: newest)
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

/// The last published state of a feed.
public struct OraclePublished: Sendable, Equatable {
  public var feed: OracleFeed
  /// The record that created the feed, as `topic:timestamp/offset`.
  public var epoch: String
  public var revision: Int
  /// The newest offset taken, by input topic.
  public var through: [String: Int]

  public init(feed: OracleFeed, epoch: String, revision: Int, through: [String: Int]) {
    self.feed = feed
    self.epoch = epoch
    self.revision = revision
    self.through = through
  }
}
