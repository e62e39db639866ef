/// The result of writing a message to a stream.
public enum EventStreamWrite: Sendable, Equatable {
  /// It will be sent, unless it is replaced or the client disconnects.
  case queued
  /// It was rejected: the client is too slow, and the queue is full. Either end the stream with
  /// ``EventStream/close()``, or replace the queued messages by one that supersedes them with
  /// ``EventStream/replaceQueued(with:)``.
  case full
  /// It was rejected: the stream has ended.
  case closed
}
