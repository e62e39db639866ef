import Service

/// Somebody who is being sent a feed as a whole.
protocol ReloadReader: AnyObject, Sendable {
  /// Bytes that wait for it.
  var remainingBytes: Int { get }
  /// Sends it nothing more, and frees its queue at once.
  func cut()
}

extension EventStream: ReloadReader {
  var remainingBytes: Int { queuedBytes }
}

extension HTTPTransfer: ReloadReader {}
