import Glibc

/// One message of an event stream, as specified by "Server-sent events" in the HTML standard.
public struct ServerSentEvent: Sendable, Equatable {
  /// The value of `Last-Event-ID` when the client reconnects; nil to leave it unchanged.
  public var id: String?
  /// The event type; nil for `message`.
  public var name: String?
  /// UTF-8. The client receives each line break as a line feed.
  public var data: [UInt8]

  /// - Parameters:
  ///   - id: line breaks and zeros, which are not allowed, are removed.
  ///   - name: likewise.
  ///   - data: UTF-8, which is not checked.
  public init(id: String? = nil, name: String? = nil, data: [UInt8]) {
    self.id = id
    self.name = name
    self.data = data
  }

  /// The encoded message. Encode it once, and write it to any number of streams.
  public func encoded() -> EncodedEvent {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(data.count + 64)
    if let id { Self.append("id: ", Self.line(id), to: &bytes) }
    if let name { Self.append("event: ", Self.line(name), to: &bytes) }
    var rest = data[...]
    while true {
      let line = rest[..<Self.lineEnd(in: rest)]
      Self.append("data: ", line, to: &bytes)
      rest = rest[line.endIndex...]
      guard let lineBreak = rest.popFirst() else { break }
      if lineBreak == UInt8(ascii: "\r"), rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
    }
    bytes.append(UInt8(ascii: "\n"))
    return EncodedEvent(bytes: bytes)
  }

  private static func append(_ field: StaticString, _ value: some Collection<UInt8>, to bytes: inout [UInt8])
  {
    field.withUTF8Buffer { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: value)
    bytes.append(UInt8(ascii: "\n"))
  }

  /// The position of the first line break, or the end. Most data has none, so the search uses a C function.
  private static func lineEnd(in bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return bytes.endIndex }
      let found = [UInt8(ascii: "\n"), UInt8(ascii: "\r")].compactMap {
        memchr(base, Int32($0), buffer.count)
      }
      return found.map { bytes.startIndex + (UnsafeRawPointer($0) - base) }.min() ?? bytes.endIndex
    }
  }

  private static func line(_ text: String) -> [UInt8] {
    text.utf8.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") && $0 != 0 }
  }
}
