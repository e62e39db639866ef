/// An event of a stream.
struct StreamEvent: Equatable {
  /// `message` by default.
  var name: String
  /// Its lines joined by newlines.
  var data: String
}

/// Parses Server-Sent Events as specified in
/// https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation. Ids have no meaning in a stream of many
/// feeds.
struct EventStreamParser {
  /// The wait before a new connection that the server asks for.
  private(set) var retry: Milliseconds?
  /// An incomplete line.
  private var line: [UInt8] = []
  private var isAfterReturn = false
  private var isAtStart = true
  private var name = ""
  private var data: [String] = []

  /// The events that a piece of the stream completes.
  mutating func push(_ bytes: [UInt8]) -> [StreamEvent] {
    var events: [StreamEvent] = []
    var rest = bytes[...]
    if isAfterReturn, rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() }
    if !bytes.isEmpty { isAfterReturn = false }
    while let end = rest.firstIndex(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
      line += rest[..<end]
      let isReturn = rest[end] == UInt8(ascii: "\r")
      rest = rest[(end + 1)...]
      if isReturn {
        if rest.first == UInt8(ascii: "\n") { rest = rest.dropFirst() } else { isAfterReturn = rest.isEmpty }
      }
      if let event = takeLine() { events.append(event) }
      line.removeAll(keepingCapacity: true)
    }
    line += rest
    return events
  }

  private mutating func takeLine() -> StreamEvent? {
    if isAtStart, line.starts(with: [0xef, 0xbb, 0xbf]) { line.removeFirst(3) }
    isAtStart = false
    guard !line.isEmpty else { return dispatched() }
    let colon = line.firstIndex(of: UInt8(ascii: ":"))
    let field = line[..<(colon ?? line.endIndex)]
    var value = line[(colon.map { $0 + 1 } ?? line.endIndex)...]
    if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
    switch String(decoding: field, as: UTF8.self) {
    case "data": data.append(String(decoding: value, as: UTF8.self))
    case "event": name = String(decoding: value, as: UTF8.self)
    case "retry":
      if (1...9).contains(value.count), value.allSatisfy({ (0x30...0x39).contains($0) }) {
        retry = Int(String(decoding: value, as: UTF8.self))
      }
    default: break
    }
    return nil
  }

  private mutating func dispatched() -> StreamEvent? {
    defer { (name, data) = ("", []) }
    return data.isEmpty
      ? nil : StreamEvent(name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
  }
}
