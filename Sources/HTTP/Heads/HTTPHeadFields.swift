/// The header fields that determine a request's target and length. Differences in interpretation allow request
/// smuggling, so everything ambiguous is rejected.
struct HTTPHeadFields: Sendable {
  /// The names of these fields.
  static let names = ["Host", "Content-Length", "Transfer-Encoding"]
  /// Other fields that are used and have no lists.
  static let single = [
    "Authorization", "Content-Type", "Last-Event-ID", "Origin", "Sec-Fetch-Mode", "Sec-Fetch-Site",
  ]

  private var hostCount = 0
  private var length: String?
  private var hasTransferEncoding = false

  /// Adds the next field.
  ///
  /// - Throws: the fault in the field.
  mutating func add(name: String, value: String) throws(HTTPHeadFault) {
    switch name.utf8.count {
    case 4 where HTTPField.isSameName(name, "Host"): try addHost(value)
    case 14 where HTTPField.isSameName(name, "Content-Length"): try addLength(value)
    case 17 where HTTPField.isSameName(name, "Transfer-Encoding"): hasTransferEncoding = true
    default: break
    }
  }

  /// Checks all fields together, at the end.
  ///
  /// - Parameters:
  ///   - isHTTP10: whether the request is HTTP/1.0, which need not have `Host`.
  ///   - maxContentBytes: the maximum size of the content.
  func check(isHTTP10: Bool, maxContentBytes: Int) throws(HTTPHeadFault) {
    if hostCount == 0, !isHTTP10 {
      throw HTTPHeadFault(code: "invalid-host", "the request has no Host; send one")
    }
    if hasTransferEncoding {
      guard length == nil else {
        throw HTTPHeadFault(
          code: "invalid-length",
          "the request has Content-Length and Transfer-Encoding; send Content-Length alone"
        )
      }
      throw HTTPHeadFault(
        status: 411,
        code: "length-required",
        "Transfer-Encoding is not supported; send Content-Length instead"
      )
    }
    try checkLength(atMost: maxContentBytes)
  }

  /// Checks the size of the content.
  func checkLength(atMost most: Int) throws(HTTPHeadFault) {
    // A number that overflows is too large as well.
    guard let length, (Int(length) ?? .max) > most else { return }
    throw HTTPHeadFault(
      status: 413,
      code: "content-too-large",
      "the content has \(length.prefix(30)) bytes; allowed: \(most)"
    )
  }

  private mutating func addHost(_ value: String) throws(HTTPHeadFault) {
    hostCount += 1
    guard hostCount == 1 else {
      throw HTTPHeadFault(code: "invalid-host", "the request has more than one Host; send one")
    }
    guard HostField(value) != nil else {
      throw HTTPHeadFault(
        code: "invalid-host",
        "Host is neither a name nor an address, with or without a port; send one such as localhost:8321"
      )
    }
  }

  private mutating func addLength(_ value: String) throws(HTTPHeadFault) {
    guard length == nil else {
      throw HTTPHeadFault(
        code: "invalid-length",
        "the request has more than one Content-Length; send one"
      )
    }
    guard !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw HTTPHeadFault(code: "invalid-length", "Content-Length is not a number of digits only")
    }
    length = value
  }
}

/// A value of `Host`: a name or an address, with an optional port.
struct HostField {
  /// The host without brackets.
  let host: String

  /// Parses a value; nil if it is invalid. User names, paths, and text after a closing bracket are invalid.
  init?(_ value: String) {
    let name: Substring
    var rest: Substring
    if value.hasPrefix("[") {
      guard let end = value.firstIndex(of: "]") else { return nil }
      name = value[value.index(after: value.startIndex)..<end]
      guard name.contains(":"), IPAddress(String(name)) != nil else { return nil }
      rest = value[value.index(after: end)...]
    } else {
      name = value.prefix { $0 != ":" }
      guard name.utf8.allSatisfy(Self.isNameByte) else { return nil }
      rest = value[name.endIndex...]
    }
    host = String(name)
    guard !rest.isEmpty else { return }
    guard rest.removeFirst() == ":", rest.utf8.count <= 5 else { return nil }
    // RFC 3986 allows an empty port.
    guard rest.utf8.allSatisfy({ (0x30...0x39).contains($0) }), rest.isEmpty || UInt16(rest) != nil else {
      return nil
    }
  }

  /// Whether it is `localhost`, a subdomain of it, or a loopback address.
  var isLoopback: Bool {
    let name = host.lowercased()
    return name == "localhost" || name.hasSuffix(".localhost") || IPAddress(name)?.isLoopback ?? false
  }

  /// A byte of `reg-name` in RFC 3986: unreserved characters, percent-encoding, sub-delimiters.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    byte.isLetterOrDigit || "-._~%!$&'()*+,;=".utf8.contains(byte)
  }
}
