public import Feed

/// Records that are applied one after the other inside the store.
///
/// A batch belongs to one side at a time: to whoever fills it, or to the store while `apply` runs.
public protocol InputBatch: AnyObject, Sendable {
  /// The next record to apply; nil when there is none left. Valid until `advance`.
  ///
  /// - Throws: what makes the rest of the input unreadable.
  func current() throws -> InputRecord?

  /// The record was taken.
  func advance()
}
