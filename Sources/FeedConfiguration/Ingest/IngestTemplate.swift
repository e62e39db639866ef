package import Feed

/// How an id is made of a row: `customer-{/customer_id}` is a literal and a pointer into the row, `{key}` is the record's key as
/// text, and `{key/id}` a pointer into it. `{{` and `}}` are braces.
package struct IngestTemplate: Sendable, Equatable {
  package enum Part: Sendable, Equatable {
    case literal([UInt8])
    case row(JSONPointer)
    case key
    case keyMember(JSONPointer)
  }

  /// As it is written.
  package let text: String
  package private(set) var parts: [Part] = []

  /// Whether the key alone decides.
  package var usesOnlyKey: Bool {
    parts.allSatisfy { if case .row = $0 { false } else { true } }
  }

  package static let allowed = """
    literals, and {/pointer} into the row, {key}, or {key/pointer} into the key, as in "customer-{/customer_id}"; {{ and }} are \
    braces
    """

  /// - Returns: nil if the text is no template.
  init?(_ text: String) {
    self.text = text
    var rest = text[...]
    while let character = rest.popFirst() {
      if character == "{" || character == "}", rest.first == character {
        rest.removeFirst()
        append(character)
      } else if character == "{" {
        guard let close = rest.firstIndex(of: "}"), let part = Self.part(rest[..<close]) else { return nil }
        parts.append(part)
        rest = rest[rest.index(after: close)...]
      } else {
        guard character != "}" else { return nil }
        append(character)
      }
    }
    if parts.isEmpty { return nil }
  }

  private mutating func append(_ character: Character) {
    var bytes = Array(String(character).utf8)
    if case .literal(let before)? = parts.last { bytes = before + bytes }
    if case .literal? = parts.last { parts.removeLast() }
    parts.append(.literal(bytes))
  }

  private static func part(_ name: Substring) -> Part? {
    if name == "key" { return .key }
    if name.hasPrefix("key/") { return JSONPointer(String(name.dropFirst(3))).map { .keyMember($0) } }
    return name.hasPrefix("/") ? JSONPointer(String(name)).map { .row($0) } : nil
  }

  /// A JSON string.
  package static func quoted(_ text: String) -> String {
    let writer = ByteWriter()
    var text = text
    text.withUTF8 { writer.append(quoted: ByteSpan(UnsafeRawBufferPointer($0))) }
    return writer.written.text
  }
}

extension JSONPointer {
  /// - Returns: nil if the text is no pointer, or too long.
  init?(_ text: String) {
    var text = text
    guard let pointer = text.withUTF8({ JSONPointer(ByteSpan(UnsafeRawBufferPointer($0))) }) else {
      return nil
    }
    self = pointer
  }
}
