/// How long updates wait for others, so that many become one changeset.
public struct CoalescingOptions: Sendable, Equatable {
  /// Longest wait of the first waiting record, in milliseconds; with 0 every record flushes those before it.
  public var windowMilliseconds: Int64 = 100
  /// Flush when this many records wait.
  public var maxRecords = 10_000
  /// Flush when the keys and values of the waiting records have this many bytes.
  public var maxBytes = 8_388_608

  public init() {}
}
