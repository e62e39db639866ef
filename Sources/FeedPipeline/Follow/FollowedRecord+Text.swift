import Feed

extension FollowedRecord {
  /// The record in a line for people; nil if it means nothing to them.
  ///
  /// ```
  /// 10:00:01.250  newsroom/home     rev 12   diff               insert 2, move 1               1.3 kB
  /// ```
  var text: String? {
    switch self {
    case .changeset(_, .applied(let change)): FollowLine.text(of: change)
    case .changeset(_, .removed(let feed)): FollowLine.text("", feed, "", "delete", "the feed is gone")
    case .changeset(_, .gap(let replica, let base)):
      FollowLine.text(
        "",
        "",
        "",
        "gap",
        "the changeset is on revision \(base), the replica at \(replica ?? 0)"
      )
    case .changeset(_, .mismatch(let fault)): FollowLine.text("", "", "", "MISMATCH", fault.message)
    case .changeset(_, .skipped), .changeset(_, .waitingForParts), .changeset(_, .otherEpoch): nil
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

  /// Whether it should not have happened.
  var isFault: Bool {
    switch self {
    case .changeset(_, .gap), .changeset(_, .mismatch), .changeset(_, .otherEpoch), .unreadable: true
    case .changeset, .rejected: false
    }
  }
}
