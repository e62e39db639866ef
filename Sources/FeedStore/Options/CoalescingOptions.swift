/// How long updates wait for others, so that many become one changeset.
public struct CoalescingOptions: Sendable, Equatable {
  /// Maximum wait of the first waiting record, in milliseconds; with 0 every record flushes those before it.
  public var windowMilliseconds: Int64 = 100
  /// Minimum wait of the first waiting record, in milliseconds: how long a single update waits for others. If it is
  /// more than the window, the window applies.
  public var idleWindowMilliseconds: Int64 = 10
  /// Flush when this many records wait.
  public var maxRecords = 10_000
  /// Flush when the keys and values of the waiting records have this many bytes.
  public var maxBytes = 8_388_608

  // While the input lags, the larger of these limits and the ones above applies. A window of 0 disables these.

  /// Maximum wait of the first waiting record while the input lags, in milliseconds.
  public var backlogWindowMilliseconds: Int64 = 1_000
  /// Flush when this many records wait while the input lags.
  public var backlogMaxRecords = 1_000_000
  /// Flush when the keys and values of the waiting records have this many bytes while the input lags.
  public var backlogMaxBytes = 134_217_728
  /// After a window that took longer than this to publish and commit, in milliseconds, fewer bytes may wait.
  public var backlogCommitMilliseconds: Int64 = 250

  public init() {}
}
