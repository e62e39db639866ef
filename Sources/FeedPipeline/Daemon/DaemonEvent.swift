public import FeedStore

/// What a daemon tells while it runs. Told on the worker's thread: be quick.
public enum DaemonEvent: Sendable, Equatable {
  /// The embedded broker listens at this address.
  case listening(bootstrapServers: String)
  /// The group has given it this many input partitions; its feeds are empty.
  case assigned(partitions: Int)
  /// A poll brought so many records; they are applied before anything else happens.
  case received(records: Int)
  /// A flush was committed; all that was done since the start.
  case committed(StoreCounters)
  /// The partitions are gone, and the state of their feeds with them.
  case released
}
