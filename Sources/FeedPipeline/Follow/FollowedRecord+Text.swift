import Feed
import Service

extension FollowedRecord {
  /// The record in a line for people; nil if it means nothing to them.
  ///
  /// ```
  /// 10:00:01.250  newsroom/home     rev 12   diff               insert 2, move 1               1.3 kB
  /// ```
  var text: String? {
    switch self {
    case .changeset(_, .applied(let change)): Self.text(of: change)
    case .changeset(_, .removed(let feed)): Self.line("", feed, "", "delete", "the feed is gone")
    case .changeset(_, .gap(let replica, let base)):
      Self.line("", "", "", "gap", "the changeset is on revision \(base), the replica at \(replica ?? 0)")
    case .changeset(_, .mismatch(let fault)): Self.line("", "", "", "MISMATCH", fault.message)
    case .changeset(_, .skipped), .changeset(_, .waitingForParts), .changeset(_, .otherEpoch): nil
    case .unreadable(let partition, let offset, let fault):
      Self.line("", "", "", "UNREADABLE", "partition \(partition), offset \(offset): \(fault.message)")
    case .rejected(let key, let headers):
      Self.line(
        "",
        key,
        "",
        "rejected",
        "\(headers["feedstore.error.code"] ?? "?"): \(headers["feedstore.error.message"] ?? "?")"
      )
    }
  }

  /// Whether it should not have happened.
  var isFault: Bool {
    switch self {
    case .changeset(_, .gap), .changeset(_, .mismatch), .changeset(_, .otherEpoch), .unreadable: true
    case .changeset, .rejected: false
    }
  }

  private static func text(of change: ReplicaChange) -> String {
    let counts = [
      ("delete", change.counts.deletes), ("insert", change.counts.inserts), ("move", change.counts.moves),
      ("reconfigure", change.counts.reconfigures), ("reload", change.counts.reloads),
    ]
    let entries = counts.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    let mode = change.mode.rawValue + (change.reason.map { " (\($0.rawValue))" } ?? "")
    let details = change.mode == .reload ? "the whole feed" : entries
    // Of the date and time, the time.
    let time = String(change.time.dropFirst(11).dropLast())
    let bytes = Quantity.bytes(change.byteCount)
    return line(time, change.feed, "rev \(change.revision)", mode, padded(details, 52) + "  " + bytes)
  }

  private static func line(
    _ time: String,
    _ feed: String,
    _ revision: String,
    _ mode: String,
    _ details: String
  ) -> String {
    padded(time, 12) + "  " + padded(feed, 16) + "  " + padded(revision, 7) + "  " + padded(mode, 18) + "  "
      + details
  }

  private static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
