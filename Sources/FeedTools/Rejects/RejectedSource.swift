/// Where a rejected record was read from, as the headers of its copy say.
struct RejectedSource: Sendable, Equatable {
  let topic: String
  /// From 0.
  let partition: Int32
  /// nil if the header is missing or no number.
  let offset: Int64?
  /// Milliseconds since 1970; nil if the header is missing or no number.
  let timestampMilliseconds: Int64?
}
