/// Judges the head of a request while its bytes come in, before anything is kept or answered. Without I/O.
///
/// It is stricter than HTTP must be: lines end with CR and LF, a field is one line, and whatever says twice where the
/// request goes or ends is refused. So no proxy can understand a request differently that is let through.
public struct HTTPHeadCheck: Sendable {
  private let limits: HTTPHeadLimits
  /// Bytes that were looked at.
  private var position = 0
  private var lineStart = 0
  private var isHTTP10: Bool?
  private var fieldCount = 0
  private var fields = HTTPHeadFields()
  private var ended: HTTPHeadVerdict?

  /// Judges a head that begins with the first byte it is given.
  public init(_ limits: HTTPHeadLimits = HTTPHeadLimits()) {
    self.limits = limits
  }

  /// Judges a whole text of a client's, for tests.
  public static func verdict(_ bytes: [UInt8], _ limits: HTTPHeadLimits = HTTPHeadLimits()) -> HTTPHeadVerdict
  {
    var check = HTTPHeadCheck(limits)
    return bytes.withUnsafeBytes { check.read($0) }
  }

  /// Looks at what is new. Takes O(n) for n bytes in all, however they are cut into pieces.
  ///
  /// - Parameter bytes: Everything from the first byte on, at least as much as before.
  /// - Returns: Always the same once that is not `incomplete`.
  public mutating func read(_ bytes: UnsafeRawBufferPointer) -> HTTPHeadVerdict {
    if let ended { return ended }
    do throws(HTTPHeadFault) {
      while position < bytes.count {
        guard position < limits.bytes else { throw tooLarge }
        let byte = bytes[position]
        try check(byte, after: position > lineStart ? bytes[position - 1] : nil)
        position += 1
        guard byte == Self.lineFeed else { continue }
        let line = UnsafeRawBufferPointer(rebasing: bytes[lineStart..<position - 2])
        lineStart = position
        if try end(line) {
          let verdict = HTTPHeadVerdict.complete(length: position)
          ended = verdict
          return verdict
        }
      }
    } catch {
      ended = .refused(error)
      return .refused(error)
    }
    return .incomplete
  }

  // MARK: Bytes

  private static let lineFeed = UInt8(ascii: "\n")
  private static let carriageReturn = UInt8(ascii: "\r")
  private static let space = UInt8(ascii: " ")
  private static let tab = UInt8(ascii: "\t")

  private func check(_ byte: UInt8, after previous: UInt8?) throws(HTTPHeadFault) {
    if previous == Self.carriageReturn || byte == Self.lineFeed {
      guard byte == Self.lineFeed, previous == Self.carriageReturn else {
        throw HTTPHeadFault("a line of the request's head does not end with CR and LF")
      }
      return
    }
    guard byte >= 0x20 && byte != 0x7f || byte == Self.tab || byte == Self.carriageReturn else {
      throw HTTPHeadFault("the request's head has the control character \(byte)")
    }
  }

  private var tooLarge: HTTPHeadFault {
    if isHTTP10 == nil {
      return HTTPHeadFault(
        status: 414,
        code: "target-too-long",
        "the request line is too long; a request's head may have \(limits.bytes) bytes"
      )
    }
    return HTTPHeadFault(
      status: 431,
      code: "head-too-large",
      "the header fields are too large; a request's head may have \(limits.bytes) bytes"
    )
  }

  // MARK: Lines

  /// Takes a line, without its end.
  ///
  /// - Returns: Whether the head ends with it.
  private mutating func end(_ line: UnsafeRawBufferPointer) throws(HTTPHeadFault) -> Bool {
    guard let isHTTP10 else {
      // One empty line before a request is passed over, as RFC 9112, 2.2 asks for.
      if line.isEmpty, position == 2 { return false }
      self.isHTTP10 = try checkRequestLine(line)
      return false
    }
    guard !line.isEmpty else {
      try fields.check(isHTTP10: isHTTP10, maxContentBytes: limits.contentBytes)
      return true
    }
    try checkField(line)
    return false
  }

  /// - Returns: Whether the request is one of HTTP/1.0.
  private func checkRequestLine(_ line: UnsafeRawBufferPointer) throws(HTTPHeadFault) -> Bool {
    let parts = line.split(separator: Self.space, maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(Self.isTokenByte), !parts[1].isEmpty,
      !parts[1].contains(Self.tab)
    else {
      throw HTTPHeadFault("the request line is not a method, a target and a version, with one space between")
    }
    let version = parts[2]
    let isHTTP10 = version.elementsEqual("HTTP/1.0".utf8)
    guard isHTTP10 || version.elementsEqual("HTTP/1.1".utf8) else {
      guard version.starts(with: "HTTP/".utf8) else {
        throw HTTPHeadFault("the request line does not end with HTTP/1.1")
      }
      throw HTTPHeadFault(status: 505, code: "version-not-supported", "only HTTP/1.1 and HTTP/1.0 are spoken")
    }
    guard let query = parts[1].firstIndex(of: UInt8(ascii: "?")) else { return isHTTP10 }
    let count = parts[1][query...].reduce(1) { $1 == UInt8(ascii: "&") ? $0 + 1 : $0 }
    guard count <= limits.parameters else {
      throw HTTPHeadFault(
        status: 414,
        code: "target-too-long",
        "the query has \(count) parameters; allowed: \(limits.parameters)"
      )
    }
    return isHTTP10
  }

  private mutating func checkField(_ line: UnsafeRawBufferPointer) throws(HTTPHeadFault) {
    fieldCount += 1
    guard fieldCount <= limits.fields else {
      throw HTTPHeadFault(
        status: 431,
        code: "head-too-large",
        "the request has more than \(limits.fields) header fields"
      )
    }
    guard line[0] != Self.space, line[0] != Self.tab else {
      throw HTTPHeadFault("a header field continues on the next line; send each on one line")
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      throw HTTPHeadFault("a line of the head has no colon; header fields are a name, a colon and a value")
    }
    let name = line[..<colon]
    guard !name.isEmpty, name.allSatisfy(Self.isTokenByte) else {
      throw HTTPHeadFault(
        "the name of a header field is empty, or has a space or another character not allowed"
      )
    }
    // Only few fields matter here, and none of them has a name that is longer or shorter.
    guard [4, 14, 17].contains(name.count) else { return }
    var value = line[(colon + 1)...]
    while let first = value.first, first == Self.space || first == Self.tab { value.removeFirst() }
    while let last = value.last, last == Self.space || last == Self.tab { value.removeLast() }
    try fields.add(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
  }

  /// Of `token` in RFC 9110.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }
}
