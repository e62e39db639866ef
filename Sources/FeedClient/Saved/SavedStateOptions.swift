/// The file from which a client starts, and its maximum age.
public struct SavedStateOptions: Sendable, Equatable {
  /// The path of a file written by ``FeedClient/save(to:)``. The file need not exist.
  public var path: String
  /// The maximum age of the saved state. The topic reports deletions by nulls, which compaction removes after the
  /// topic's `delete.retention.ms`, 24 hours by default. The age must be less than that, minus the time that it takes
  /// to read the newer records; otherwise deleted feeds would remain.
  public var maximumAge: Duration

  /// Creates options; by default the state may be up to twelve hours old.
  public init(path: String, maximumAge: Duration = .seconds(12 * 3_600)) {
    self.path = path
    self.maximumAge = maximumAge
  }
}
