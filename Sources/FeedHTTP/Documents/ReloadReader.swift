import Service

/// A reader that is being sent a reload.
protocol ReloadReader: AnyObject, Sendable {
  /// Bytes that are still queued for it.
  var remainingBytes: Int { get }
  /// Stops sending and frees the queue at once.
  func cut()
}

extension EventStream: ReloadReader {
  var remainingBytes: Int { queuedBytes }
}

extension HTTPTransfer: ReloadReader {}
