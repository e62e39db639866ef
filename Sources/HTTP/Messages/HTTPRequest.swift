/// A request, as passed to a route's handler.
package struct HTTPRequest: Sendable {
  /// The path as sent, percent-encoded, without the query.
  package let path: String
  /// The route's parameters by name, decoded. A parameter may hold a slash that was sent as `%2F`.
  package let parameters: [String: String]
  /// The query parameters in order, decoded.
  package var query: [HTTPField]
  /// The header fields in order, with names as sent.
  package var headers: [HTTPField]
  /// The content; at most the route's `contentBytes`.
  package internal(set) var content: [UInt8] = []
  /// The media type of the route that the client prefers; nil if the route names none.
  package let mediaType: String?
  /// The client's rights.
  package let rights: AccessRights

  /// The value of the header fields with a name, ignoring case; nil if there are none.
  package func header(_ name: String) -> String? {
    headers.value(named: name)
  }

  /// Whether the client has this version of the content, compressed or not (`If-None-Match`).
  package func isKnown(entityTag: String) -> Bool {
    header("If-None-Match").flatMap { EntityTag.matched(entityTag, by: $0) } != nil
  }

  /// The first query parameter with a name; case matters.
  package func queryValue(_ name: String) -> String? {
    query.first { $0.name == name }?.value
  }

  /// Rejects parameters with other names, which would have no effect.
  package func checkQuery(_ names: String...) throws(HTTPRefusal) {
    guard let unknown = query.first(where: { !names.contains($0.name) })?.name else { return }
    let known = names.isEmpty ? "none" : names.joined(separator: ", ")
    throw HTTPRefusal(
      400,
      "invalid-parameter",
      "\(unknown.debugDescription) is not known here; known: \(known)"
    )
  }
}

/// A name and a value: a header field or a query parameter.
package struct HTTPField: Sendable, Equatable {
  package var name: String
  package var value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }

  /// Whether two names are equal, ignoring the case of ASCII letters.
  static func isSameName(_ first: String, _ second: String) -> Bool {
    isSameName(first.utf8, second.utf8)
  }

  /// Whether two names are equal, ignoring the case of ASCII letters.
  static func isSameName(_ first: some Sequence<UInt8>, _ second: some Sequence<UInt8>) -> Bool {
    first.elementsEqual(second, by: isSameIgnoringCase)
  }
}

extension [HTTPField] {
  /// The value of a field, ignoring case. Several fields are one with the list of their values (RFC 9110, section 5.3).
  func value(named name: String) -> String? {
    let values = filter { HTTPField.isSameName($0.name, name) }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

private func isSameIgnoringCase(_ first: UInt8, _ second: UInt8) -> Bool {
  first == second
    || (first ^ second == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20))
}

/// Entity tags and the condition `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1.2).
package enum EntityTag {
  /// Further tags of a condition are ignored, so that a long list costs little. A client has one or two versions.
  private static let mostListed = 32

  /// The tag in a response. Compressed content is another representation and has another tag.
  static func text(_ tag: String, isCompressed: Bool) -> String {
    "\"\(tag)\(isCompressed ? compressed : "")\""
  }

  private static let compressed = "-gzip"

  /// The tag of a text in a response, of plain or compressed content; nil if it is not one strong tag.
  package static func tag(in text: String) -> String? {
    guard text.count > 2, text.first == "\"", text.last == "\"" else { return nil }
    let tag = text.dropFirst().dropLast()
    if tag.contains("\"") { return nil }
    return String(tag.hasSuffix(compressed) ? tag.dropLast(compressed.count) : tag)
  }

  /// The tag of the representation that the client has, as in a response; nil if it does not have this version.
  ///
  /// - Parameter condition: the value of `If-None-Match`; `*` matches any version.
  static func matched(_ tag: String, by condition: String) -> String? {
    let listed = condition.utf8.split(separator: UInt8(ascii: ","), maxSplits: mostListed).prefix(mostListed)
      .map {
        $0.trimmingSpaces()
      }
    let forms = [text(tag, isCompressed: false), text(tag, isCompressed: true)]
    return forms.first { form in
      listed.contains {
        // Weak comparison ignores whether a tag is weak.
        $0.elementsEqual("*".utf8)
          || ($0.starts(with: "W/".utf8) ? $0.dropFirst(2) : $0).elementsEqual(form.utf8)
      }
    }
  }
}

extension BidirectionalCollection<UInt8> {
  /// The bytes without surrounding spaces and tabs.
  func trimmingSpaces() -> SubSequence {
    let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    let start = self.drop(while: isSpace)
    guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start.prefix(0) }
    return start[...last]
  }
}
