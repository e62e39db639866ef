import Feed
import Service

/// A readable line, in columns: time, feed, revision, mode, details.
enum FollowLine {
  /// The line for a change.
  ///
  /// - Parameter plan: why it was published this way; appended to the line.
  static func text(of change: ReplicaChange, in partition: Int32, _ plan: ChangesetPlan? = nil) -> String {
    let mode = change.mode.rawValue + (change.reason.map { " (\($0.rawValue))" } ?? "")
    let details = change.mode == .reload ? "the whole feed" : entries(of: change)
    let bytes = Quantity.bytes(change.byteCount)
    let why = plan.map { "  " + PlanText.sentence($0, change.reason) } ?? ""
    return text(
      time(of: change.time),
      name(change.feed, in: partition),
      "rev \(change.revision)",
      mode,
      padded(details, 52) + "  " + (plan == nil ? bytes : padded(bytes, 8)) + why
    )
  }

  static func text(
    _ time: String,
    _ feed: String,
    _ revision: String,
    _ mode: String,
    _ details: String
  ) -> String {
    padded(time, 12) + "  " + padded(feed, 16) + "  " + padded(revision, 7) + "  " + padded(mode, 18) + "  "
      + details
  }

  /// A feed and its partition: `news [1]`.
  static func name(_ feed: String, in partition: Int32?) -> String {
    feed + (partition.map { " [\($0)]" } ?? "")
  }

  /// The entries of a difference in words: `insert 2, move 1`.
  static func entries(of change: ReplicaChange) -> String {
    [
      ("delete", change.counts.deletes), ("insert", change.counts.inserts), ("move", change.counts.moves),
      ("reconfigure", change.counts.reconfigures), ("reload", change.counts.reloads),
    ].filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }

  /// The time of day of a timestamp.
  static func time(of text: String) -> String { String(text.dropFirst(11).dropLast()) }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
