/// Validates the head of a request as its bytes arrive, before the server stores or answers anything. No I/O.
///
/// It is stricter than HTTP requires: lines end with CR LF, a field is one line, and a repeated field that determines
/// the request's target or length is rejected. So a proxy cannot interpret an accepted request differently.
package struct HTTPHeadCheck: Sendable {
  private let limits: HTTPHeadLimits
  /// The number of bytes examined so far.
  private var position = 0
  private var lineStart = 0
  private var isHTTP10: Bool?
  private var fieldCount = 0
  private var fields = HTTPHeadFields()
  private var ended: HTTPHeadVerdict?

  /// Creates a check for a head that begins with the first byte passed.
  package init(_ limits: HTTPHeadLimits = HTTPHeadLimits()) {
    self.limits = limits
  }

  /// Examines new bytes. O(n) for n bytes in total, however they are split.
  ///
  /// - Parameter bytes: all bytes from the first one; at least as many as in the previous call.
  /// - Returns: the verdict; it does not change once it is not `incomplete`.
  package mutating func read(_ bytes: UnsafeRawBufferPointer) -> HTTPHeadVerdict {
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
    guard Self.isTextByte(byte) || byte == Self.carriageReturn else {
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

  /// Processes a line without its end.
  ///
  /// - Returns: whether it ends the head.
  private mutating func end(_ line: UnsafeRawBufferPointer) throws(HTTPHeadFault) -> Bool {
    guard let isHTTP10 else {
      // One empty line before a request is ignored, as RFC 9112, section 2.2 recommends.
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

  /// - Returns: whether the request is HTTP/1.0.
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
    try limits.check(fieldCount: fieldCount)
    guard line[0] != Self.space, line[0] != Self.tab else {
      throw HTTPHeadFault("a header field continues on the next line; send each on one line")
    }
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
      throw HTTPHeadFault("a line of the head has no colon; header fields are a name, a colon and a value")
    }
    let name = line[..<colon]
    try Self.checkName(name)
    // Only fields with names of these lengths are checked.
    guard [4, 14, 17].contains(name.count) else { return }
    var value = line[(colon + 1)...]
    while let first = value.first, first == Self.space || first == Self.tab { value.removeFirst() }
    while let last = value.last, last == Self.space || last == Self.tab { value.removeLast() }
    try fields.add(name: String(decoding: name, as: UTF8.self), value: String(decoding: value, as: UTF8.self))
  }

  /// Rejects a header field's name that is not a `token`.
  static func checkName(_ name: some Collection<UInt8>) throws(HTTPHeadFault) {
    guard !name.isEmpty, name.allSatisfy(isTokenByte) else {
      throw HTTPHeadFault(
        "the name of a header field is empty, or has a space or another character not allowed"
      )
    }
  }

  /// Whether a byte may be in a line of a head: all but control characters other than tabs.
  static func isTextByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f || byte == tab }

  /// A byte of `token` in RFC 9110.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}

extension UInt8 {
  /// Whether it is an ASCII letter or digit.
  var isLetterOrDigit: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }
}

/// The verdict on a request after some of its bytes.
package enum HTTPHeadVerdict: Sendable, Equatable {
  /// The head is incomplete and valid so far.
  case incomplete
  /// The head is complete.
  ///
  /// - Parameter length: its size in bytes, including the empty line at its end.
  case complete(length: Int)
  /// The request can be answered at once, independent of later bytes.
  case refused(HTTPHeadFault)
}

/// Why a request is rejected because of its head.
package struct HTTPHeadFault: HTTPRefusing, Equatable {
  /// The HTTP status, such as 400.
  package let status: Int
  /// A code for programs; stable.
  package let code: String
  /// A description for users, with the remedy.
  package let detail: String

  init(status: Int = 400, code: String = "invalid-request", _ detail: String) {
    self.status = status
    self.code = code
    self.detail = detail
  }

  /// No further input of the connection is read.
  package var response: HTTPResponse {
    HTTPRefusal(status, code, detail, headers: [HTTPField("Connection", "close")]).response
  }
}

/// The limits on a request's head and content.
package struct HTTPHeadLimits: Sendable, Equatable {
  /// The size of the request line and header fields, in bytes; more is answered with 414 or 431. 1024 or more.
  package var bytes = 16 << 10
  /// The number of header fields; more is answered with 431.
  package var fields = 100
  /// The number of query parameters; more is answered with 414.
  package var parameters = 100
  /// The size of the content, in bytes; more is answered with 413 before any of it is read.
  package var contentBytes = 1 << 20

  package init() {}

  func check(fieldCount: Int) throws(HTTPHeadFault) {
    guard fieldCount > fields else { return }
    throw HTTPHeadFault(
      status: 431,
      code: "head-too-large",
      "the request has more than \(fields) header fields"
    )
  }
}
