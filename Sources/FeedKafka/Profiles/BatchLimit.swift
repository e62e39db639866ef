/// The maximum batch size, which is reduced when brokers refuse larger batches.
///
/// A broker refuses a batch that is larger than a segment of its topic (`RECORD_LIST_TOO_LARGE`); the client does not
/// know that limit. Once batches have one record each, a refusal means that a record is too large.
package struct BatchLimit: Equatable {
  /// In bytes; nil until a batch is refused.
  package private(set) var bytes: Int?

  package init() {}

  /// Whether batches are limited to one record.
  package var isLeast: Bool { bytes == 1 }

  /// Reduces the limit to a tenth, after a batch was refused.
  ///
  /// - Parameter configured: the limit before the first refusal.
  package mutating func shrink(from configured: Int) {
    bytes = max(1, (bytes ?? configured) / 10)
  }
}
