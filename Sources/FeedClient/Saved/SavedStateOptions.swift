/// Where a client finds the state that it begins with, and how old that may be.
public struct SavedStateOptions: Sendable, Equatable {
  /// The file that ``FeedClient/save(to:)`` has written. There need not be one.
  public var path: String
  /// How long ago the saved state was the topic's, at most. What was deleted since then is told by nulls, which
  /// compaction removes after the topic's `delete.retention.ms`: 24 hours unless it was set. The age has to be
  /// less than that by the time it takes to read what came since, or feeds that were deleted would stay.
  public var maximumAge: Duration

  /// Makes options; by default the state may be twelve hours old.
  public init(path: String, maximumAge: Duration = .seconds(12 * 3_600)) {
    self.path = path
    self.maximumAge = maximumAge
  }
}
