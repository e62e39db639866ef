/// Whether the input is behind, so that more is published at once.
///
/// It is behind as soon as many records are unread, and until hardly any are: so the end of a backlog is published with the
/// rest of it. Brokers count records of open transactions as well, which nobody can read yet; so it is not behind either
/// when nothing comes.
struct Backlog {
  private(set) var isBehind = false
  /// As many unread records are a backlog.
  private let many: Int64

  /// - Parameter maxRecords: the most records that wait to be published when the input is not behind.
  init(maxRecords: Int) { many = Int64(maxRecords) }

  /// A poll that may have waited has ended.
  ///
  /// - Parameters:
  ///   - isEmpty: whether it brought no records.
  ///   - unread: records that no poll has brought yet, as far as the brokers have reported.
  mutating func poll(isEmpty: Bool, unread: Int64) {
    if isEmpty {
      isBehind = false
    } else if unread >= many {
      isBehind = true
    }
  }

  /// What was polled is applied.
  mutating func apply(unread: Int64) {
    if unread < max(1, many / 10) { isBehind = false }
  }
}
