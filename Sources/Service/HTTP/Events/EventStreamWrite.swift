/// What became of a message that was written to a stream.
public enum EventStreamWrite: Sendable, Equatable {
  /// It will be sent, unless it is replaced or the client goes.
  case queued
  /// It was not taken: the client is too slow, and as much waits for it as may. Either give it up with
  /// ``EventStream/close()``, or put one message that makes up for all others in their place with
  /// ``EventStream/replaceQueued(with:)``.
  case full
  /// It was not taken: the stream has ended.
  case closed
}
