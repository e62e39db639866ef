package import Feed
import Settings

/// The pattern of an id: `customer-{/customer_id}` is a literal and a pointer into the row, `{key}` is the
/// key as text, and `{key/id}` a pointer into it. `{{` and `}}` are braces.
package struct IngestTemplate: Sendable, Equatable {
  package enum Part: Sendable, Equatable {
    case literal([UInt8])
    case row(JSONPointer)
    /// A value in the key; without tokens, the key as text.
    case key(JSONPointer)

    /// The part as written in the template.
    package var text: String {
      switch self {
      case .literal(let bytes): String(decoding: bytes, as: UTF8.self)
      case .row(let pointer): "{\(pointer.text)}"
      case .key(let pointer): "{key\(pointer.text)}"
      }
    }
  }

  /// The template as written in the configuration.
  package let text: String
  package private(set) var parts: [Part] = []

  /// Whether the id depends only on the key.
  package var usesOnlyKey: Bool {
    parts.allSatisfy { if case .row = $0 { false } else { true } }
  }

  /// The pointer of a template that is only one value of the row; otherwise nil.
  var rowPointer: JSONPointer? {
    if parts.count == 1, case .row(let pointer) = parts[0] { pointer } else { nil }
  }

  static let allowedEnd = #"`{/pointer}` into the row, as in `"{/ends_at}"`"#

  /// The number of literal bytes in every id.
  var literalBytes: Int {
    parts.reduce(0) { sum, part in if case .literal(let bytes) = part { sum + bytes.count } else { sum } }
  }

  static let allowed = """
    text, where `{/pointer}` leads into the row, `{key/pointer}` into the key, `{key}` is the key, and `{{` and `}}` are \
    braces, as in `"customer-{/customer_id}"`
    """

  /// - Returns: nil if the value is not a template.
  init?(_ value: ConfigurationValue) {
    guard let text = value.string else { return nil }
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
    let bytes = Array(String(character).utf8)
    guard case .literal(let before)? = parts.last else { return parts.append(.literal(bytes)) }
    parts[parts.count - 1] = .literal(before + bytes)
  }

  private static func part(_ name: Substring) -> Part? {
    if name.hasPrefix("key") { return JSONPointer(String(name.dropFirst(3))).map { .key($0) } }
    return name.hasPrefix("/") ? JSONPointer(String(name)).map { .row($0) } : nil
  }
}
