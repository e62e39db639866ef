/// How long records wait for others.
public struct OracleCoalescing: Sendable, Equatable {
  /// In milliseconds; with 0, every record flushes those before it.
  public var windowMilliseconds: Int
  public var idleWindowMilliseconds: Int
  public var maxRecords: Int
  /// The size of keys and values.
  public var maxBytes: Int

  public init(
    windowMilliseconds: Int = 100,
    idleWindowMilliseconds: Int = 10,
    maxRecords: Int = 10_000,
    maxBytes: Int = 8_388_608
  ) {
    self.windowMilliseconds = windowMilliseconds
    self.idleWindowMilliseconds = idleWindowMilliseconds
    self.maxRecords = maxRecords
    self.maxBytes = maxBytes
  }
}
