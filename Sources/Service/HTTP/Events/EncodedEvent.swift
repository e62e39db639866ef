/// A message of a stream as it is sent. Copies share their bytes, so one message in a thousand queues is
/// there once.
public struct EncodedEvent: Sendable {
  /// UTF-8, with the empty line that ends it.
  public let bytes: [UInt8]
  /// Lives as long as the message waits anywhere: its end tells that the bytes are gone.
  public let owner: (any Sendable & AnyObject)?

  init(bytes: [UInt8], owner: (any Sendable & AnyObject)? = nil) {
    self.bytes = bytes
    self.owner = owner
  }

  /// The same message with an owner.
  public func owned(by owner: any Sendable & AnyObject) -> EncodedEvent {
    EncodedEvent(bytes: bytes, owner: owner)
  }

  /// What a client passes over.
  static let heartbeat = EncodedEvent(bytes: Array(":\n\n".utf8))

  /// Tells a client how long to wait, in milliseconds, before it comes again once the stream has ended.
  static func retry(milliseconds: Int) -> EncodedEvent {
    EncodedEvent(bytes: Array("retry: \(milliseconds)\n\n".utf8))
  }
}
