import Feed

extension FollowedRecord {
  /// The record as a readable line; nil if there is nothing to show.
  ///
  /// ```
  /// 10:00:01.250  newsroom/home [0]  rev 12   diff               insert 2, move 1               1.3 kB
  /// ```
  package var text: String? {
    switch self {
    case .changeset(let partition, .applied(let change), let plan):
      FollowLine.text(of: change, in: partition, plan)
    case .changeset(let partition, .removed(let feed), _):
      FollowLine.text("", FollowLine.name(feed, in: partition), "", "delete", "the feed is gone")
    case .changeset(_, .gap(let replica, let base), _):
      FollowLine.text(
        "",
        "",
        "",
        "gap",
        "the changeset has base \(base), the replica revision \(replica ?? 0)"
      )
    case .changeset(_, .mismatch(let fault), _): FollowLine.text("", "", "", "MISMATCH", fault.message)
    case .changeset(_, .skipped, _), .changeset(_, .waitingForParts, _), .changeset(_, .otherEpoch, _): nil
    case .unreadable(let partition, let offset, let fault):
      FollowLine.text("", "", "", "UNREADABLE", "partition \(partition), offset \(offset): \(fault.message)")
    case .rejected(let key, let headers):
      FollowLine.text(
        "",
        key,
        "",
        "rejected",
        "\(headers["feedstore.error.code"] ?? "?"): \(headers["feedstore.error.message"] ?? "?")"
      )
    }
  }

  /// Whether the record violates the protocol.
  package var isFault: Bool {
    switch self {
    case .changeset(_, .gap, _), .changeset(_, .mismatch, _), .changeset(_, .otherEpoch, _), .unreadable: true
    case .changeset, .rejected: false
    }
  }
}
