/// How large batches of records may be, as far as brokers have refused larger ones.
///
/// A broker refuses what is larger than a segment of its topic (`RECORD_LIST_TOO_LARGE`), of which the client knows
/// nothing. In batches of one record each, what is refused is a record.
package struct BatchLimit: Equatable {
  /// In bytes; nil as long as nothing was refused.
  package private(set) var bytes: Int?

  package init() {}

  /// Whether a batch has one record only.
  package var isLeast: Bool { bytes == 1 }

  /// A batch was refused: those to come are a tenth as large.
  ///
  /// - Parameter configured: the most bytes of a batch as long as nothing was refused.
  package mutating func shrink(from configured: Int) {
    bytes = max(1, (bytes ?? configured) / 10)
  }
}
