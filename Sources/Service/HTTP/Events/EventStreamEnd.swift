/// Why a stream of events takes no more.
public enum EventStreamEnd: Sendable, Equatable {
  /// The client closed the connection, or took nothing for so long that it was closed.
  case clientGone
  /// ``EventStream/close()`` was called.
  case closed
  /// The server stops.
  case serverStopped
}
