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
  package let parts: [Part]
  /// What it names of a record, for messages: `/customer_id` for each part.
  package let names: [String]

  /// Whether the key alone decides.
  package var usesOnlyKey: Bool {
    parts.allSatisfy { part in
      if case .row = part { false } else { true }
    }
  }

  package static let allowed = """
    literals, and {/pointer} into the row, {key}, or {key/pointer} into the key, as in "customer-{/customer_id}"; {{ and }} are \
    braces
    """

  /// - Returns: nil if the text is no template.
  package init?(_ text: String) {
    var (parts, names): ([Part], [String]) = ([], [])
    var literal: [UInt8] = []
    var rest = text[...]
    func end(_ literal: [UInt8]) {
      guard !literal.isEmpty else { return }
      parts.append(.literal(literal))
      names.append("")
    }
    while let character = rest.first {
      rest.removeFirst()
      if character == "{" || character == "}", rest.first == character {
        rest.removeFirst()
        literal += Array(String(character).utf8)
      } else if character == "{" {
        guard let close = rest.firstIndex(of: "}"), let part = Self.part(rest[..<close]) else { return nil }
        end(literal)
        literal = []
        parts.append(part)
        names.append(String(rest[..<close]))
        rest = rest[rest.index(after: close)...]
      } else {
        guard character != "}" else { return nil }
        literal += Array(String(character).utf8)
      }
    }
    end(literal)
    guard !parts.isEmpty else { return nil }
    (self.text, self.parts, self.names) = (text, parts, names)
  }

  private static func part(_ name: Substring) -> Part? {
    if name == "key" { return .key }
    let isKeys = name.hasPrefix("key/")
    guard isKeys || name.hasPrefix("/"), let pointer = JSONPointer(String(isKeys ? name.dropFirst(3) : name))
    else { return nil }
    return isKeys ? .keyMember(pointer) : .row(pointer)
  }
}

extension JSONPointer {
  /// - Returns: nil if the text is no pointer, or too long.
  init?(_ text: String) {
    var text = text
    let pointer = text.withUTF8 { JSONPointer(ByteSpan(UnsafeRawBufferPointer($0))) }
    guard let pointer else { return nil }
    self = pointer
  }
}
