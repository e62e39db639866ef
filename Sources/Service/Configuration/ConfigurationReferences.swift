/// Resolves `${env:NAME}` and `${file:PATH}` in values. `$${` is an escaped `${`.
struct ConfigurationReferences {
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
  func expand(
    _ text: String,
    key: String,
    place: String
  ) throws(ConfigurationError) -> (text: String, hasReference: Bool)? {
    guard text.utf8.contains(UInt8(ascii: "$")) else { return nil }
    var result = ""
    var hasReference = false
    for piece in Self.pieces(of: text) {
      switch piece {
      case .text(let literal): result += literal
      case .open: throw Self.fault("has a '${' without a '}'; \(Self.forms)", key, place)
      case .reference(let reference):
        hasReference = true
        result += try value(of: reference, key, place)
      }
      guard result.utf8.count <= Self.mostBytes else {
        throw Self.fault("has more than \(Self.mostBytes) bytes", key, place)
      }
    }
    guard !result.utf8.contains(0) else { throw Self.fault("has a zero byte in it", key, place) }
    return result == text && !hasReference ? nil : (result, hasReference)
  }

  /// Whether a text consists of a single reference.
  static func isOne(_ text: String) -> Bool {
    let pieces = pieces(of: text)
    return pieces.count == 1 && pieces[0].isReference
  }

  /// Whether a text contains a reference.
  static func areIn(_ text: String) -> Bool {
    pieces(of: text).contains(where: \.isReference)
  }

  private func value(
    of reference: String,
    _ key: String,
    _ place: String
  ) throws(ConfigurationError) -> String {
    let parts = reference.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(
      String.init
    )
    guard parts.count == 2, !parts[1].isEmpty else {
      throw Self.fault("refers to '${\(reference)}'; \(Self.forms)", key, place)
    }
    switch parts[0] {
    case "env":
      guard let value = variable(parts[1]) else {
        throw Self.fault(
          "refers to the environment variable \(parts[1]), which is not set; set it, or correct '${\(reference)}'",
          key,
          place
        )
      }
      return value
    case "file":
      do throws(FileError) {
        return try SecretFile.text(parts[1], atMost: Self.mostBytes)
      } catch {
        throw Self.fault("refers to a file: \(error)", key, place)
      }
    default:
      throw Self.fault("refers to '${\(reference)}'; \(Self.forms)", key, place)
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

  private static func fault(_ text: String, _ key: String, _ place: String) -> ConfigurationError {
    ConfigurationError("\(key) \(text)", place: place)
  }

  private static let forms = "write ${env:NAME}, ${file:PATH}, or $${ for a ${ that stands for itself"
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
