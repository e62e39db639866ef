/// An encoded message of a stream. Copies share their bytes, so that a message in a thousand queues exists once in
/// memory.
public struct EncodedEvent: Sendable {
  /// UTF-8, including the empty line at its end.
  public let bytes: [UInt8]
  /// An object that lives as long as the message is queued anywhere. Its deinitialisation means that the bytes are
  /// released.
  public let owner: (any Sendable & AnyObject)?

  init(bytes: [UInt8], owner: (any Sendable & AnyObject)? = nil) {
    self.bytes = bytes
    self.owner = owner
  }

  /// The same message with an owner.
  public func owned(by owner: any Sendable & AnyObject) -> EncodedEvent {
    EncodedEvent(bytes: bytes, owner: owner)
  }

  /// A comment, which clients ignore.
  static let heartbeat = EncodedEvent(bytes: Array(":\n\n".utf8))

  /// Tells a client how long to wait, in milliseconds, before it reconnects after the end of the stream.
  static func retry(milliseconds: Int) -> EncodedEvent {
    EncodedEvent(bytes: Array("retry: \(milliseconds)\n\n".utf8))
  }
}
