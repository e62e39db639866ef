/// The origin of a rejected record, from the headers of its copy.
struct RejectedSource: Sendable, Equatable {
  let topic: String
  /// From 0.
  let partition: Int32
  /// nil if the header is missing or not a number.
  let offset: Int64?
  /// Milliseconds since 1970; nil if the header is missing or not a number.
  let timestampMilliseconds: Int64?
}
