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

  /// A record that comes so many records after the current one, if it is at hand already and has key and value; it is only
  /// looked at, and may never become the current one.
  func upcoming(_ distance: Int) -> (partition: Int32, key: ByteSpan, value: ByteSpan)?
}

extension InputBatch {
  public func upcoming(_ distance: Int) -> (partition: Int32, key: ByteSpan, value: ByteSpan)? { nil }
}
