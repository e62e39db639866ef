/// Why a stream accepts no more messages.
public enum EventStreamEnd: Sendable, Equatable {
  /// The client closed the connection, or the connection was closed because the client stopped reading.
  case clientGone
  /// ``EventStream/close()`` was called.
  case closed
  /// The server is stopping.
  case serverStopped
}
