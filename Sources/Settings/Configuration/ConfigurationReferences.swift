import OperatingSystem

/// Resolves `${env:NAME}` and `${file:PATH}` in values. `$${` is an escaped `${`.
struct ConfigurationReferences {
  /// The key whose value is resolved, and its source, for errors.
  let key: String
  let place: String
  /// The value of an environment variable; nil if it is not set.
  let variable: (String) -> String?

  /// The maximum size of all files and variables in one value, in bytes: more than any certificate.
  static let mostBytes = 1 << 20

  /// A piece of a value.
  private enum Piece: Equatable {
    case text(String)
    /// The text between `${` and `}`.
    case reference(String)
    /// An unterminated `${`.
    case open

    var isReference: Bool {
      if case .reference = self { true } else { false }
    }
  }

  /// Resolves the references in a value.
  ///
  /// - Returns: the text, and whether it had a reference; nil if there was nothing to replace.
  /// - Throws: ``ConfigurationError`` with the key, the source and the remedy, but not the value.
  func expand(_ text: String) throws(ConfigurationError) -> (text: String, hasReference: Bool)? {
    guard text.utf8.contains(UInt8(ascii: "$")) else { return nil }
    var result = ""
    var hasReference = false
    for piece in Self.pieces(of: text) {
      switch piece {
      case .text(let literal): result += literal
      case .open: throw fault("has a '${' without a '}'; \(Self.forms)")
      case .reference(let reference):
        hasReference = true
        result += try value(of: reference)
      }
      guard result.utf8.count <= Self.mostBytes else { throw fault("has more than \(Self.mostBytes) bytes") }
    }
    guard !result.utf8.contains(0) else { throw fault("has a zero byte in it") }
    return result == text && !hasReference ? nil : (result, hasReference)
  }

  /// Whether a text consists of a single reference.
  static func isOne(_ text: String) -> Bool {
    let pieces = pieces(of: text)
    return pieces.count == 1 && pieces[0].isReference
  }

  static func areIn(_ text: String) -> Bool {
    pieces(of: text).contains(where: \.isReference)
  }

  private func value(of reference: String) throws(ConfigurationError) -> String {
    let kind = reference.prefix { $0 != ":" }
    let name = String(reference[kind.endIndex...].dropFirst())
    switch kind {
    case "env" where !name.isEmpty:
      if let value = variable(name) { return value }
      throw fault(
        "refers to the environment variable \(name), which is not set; set it, or correct '${\(reference)}'"
      )
    case "file" where !name.isEmpty:
      do throws(FileError) {
        return try SecretFile.text(name, atMost: Self.mostBytes)
      } catch {
        throw fault("refers to a file: \(error)")
      }
    default: throw fault("refers to '${\(reference)}'; \(Self.forms)")
    }
  }

  private static func pieces(of text: String) -> [Piece] {
    var pieces: [Piece] = []
    var literal = ""
    var rest = text[...]
    func take() {
      if !literal.isEmpty { pieces.append(.text(literal)) }
      literal = ""
    }
    while let character = rest.first {
      if rest.hasPrefix("$${") {
        literal += "${"
        rest = rest.dropFirst(3)
      } else if rest.hasPrefix("${") {
        take()
        rest = rest.dropFirst(2)
        guard let end = rest.firstIndex(of: "}") else { return pieces + [.open] }
        pieces.append(.reference(String(rest[..<end])))
        rest = rest[end...].dropFirst()
      } else {
        literal.append(character)
        rest = rest.dropFirst()
      }
    }
    take()
    return pieces
  }

  private func fault(_ text: String) -> ConfigurationError {
    ConfigurationError("\(key) \(text)", place: place)
  }

  private static let forms = "write ${env:NAME}, ${file:PATH}, or $${ for a literal ${"
}

/// Recognises keys with secret values by their names.
package enum SecretKey {
  /// Whether a key's value is hidden in messages and listings: secrets, and values derived from them.
  package static func isMasked(_ key: String) -> Bool {
    let key = "." + key.lowercased()
    return isSecret(key) || key.contains(".sasl.") || key.contains(".ssl.key")
  }

  /// Whether a key's value is a secret, so that a file that contains it must not be readable by other users.
  package static func isSecret(_ key: String) -> Bool {
    let key = "." + key.lowercased()
    let last = key.split(separator: ".").last ?? ""
    return ["password", "secret", "token"].contains(last) || last.hasSuffix("password")
      || key.contains("jaas")
      || key.hasSuffix(".key.pem") || key.hasSuffix(".sasl.oauthbearer.config")
  }
}
