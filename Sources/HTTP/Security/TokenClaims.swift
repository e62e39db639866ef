/// The claims that tokens need, and the rights that they give.
package struct TokenPolicy: Sendable, Equatable {
  /// The required issuer (`iss`); empty for any.
  package var issuer = ""
  /// The required audience (`aud`); empty for any.
  package var audience = ""
  /// Tokens are accepted this many milliseconds before their start (`nbf`) and after their end (`exp`).
  package var leewayMilliseconds: Int64 = 5_000
  /// The claim with the rights of a single token.
  package var claim = "feedstore"
  /// The feeds that every valid token may read and write, and the contents that it may write.
  package var read: [ClaimPattern] = []
  package var write: [ClaimPattern] = []
  package var contents: [ClaimPattern] = []

  package init() {}

  /// The patterns of feeds that a token may read and write, and of contents that it may write.
  func patterns(
    _ claims: ClaimValue
  ) throws(TokenFault) -> (read: [String], write: [String], contents: [String]) {
    (
      try listed("read", in: claims) + read.compactMap { $0.filled(with: claims) },
      try listed("write", in: claims) + write.compactMap { $0.filled(with: claims) },
      try listed("contents", in: claims) + contents.compactMap { $0.filled(with: claims) }
    )
  }

  private func listed(_ name: String, in claims: ClaimValue) throws(TokenFault) -> [String] {
    func fault(_ place: String) -> TokenFault { TokenFault("the claim \(claim)\(place) is not valid") }
    guard let rights = ClaimPath(claim)?.value(in: claims), rights != .null else { return [] }
    guard case .object(let members) = rights else { throw fault("") }
    guard let list = members[name], list != .null else { return [] }
    guard case .list(let values) = list else { throw fault(".\(name)") }
    let patterns = values.prefix { if case .text = $0 { true } else { false } }
    guard patterns.count == values.count else { throw fault(".\(name)[\(patterns.count)]") }
    return patterns.compactMap { if case .text(let text) = $0 { text } else { nil } }
  }
}

/// The place of a claim: its name, or a JSON pointer (RFC 6901), which begins with a slash.
package struct ClaimPath: Sendable, Equatable {
  private let names: [String]

  static let mostLevels = 8
  package static let allowed = """
    the name of a claim, or a JSON pointer such as /resource_access/feeds of at most \(mostLevels) levels, in visible ASCII without \
    quotation marks, backslashes and braces
    """

  /// - Returns: nil if it is not ``allowed``. The reason of a refusal, which has the name, cannot have all characters.
  package init?(_ text: String) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"\\{}".utf8.contains($0) })
    else { return nil }
    let parts = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    let isPointer = text.hasPrefix("/")
    names =
      isPointer ? parts.map { String($0).replacing("~1", with: "/").replacing("~0", with: "~") } : [text]
    guard isPointer else { return }
    let rest = text.replacing("~0", with: "").replacing("~1", with: "")
    if rest.contains("~") || names.count > Self.mostLevels { return nil }
  }

  /// - Returns: nil if it is missing.
  func value(in claims: ClaimValue) -> ClaimValue? {
    names.reduce(claims) { value, name in
      switch value {
      case .object(let members): members[name]
      case .list(let values): values.indices.first { "\($0)" == name }.map { values[$0] }
      default: nil
      }
    }
  }
}

/// A pattern of ids with claims in it: `user-{sub}/*`.
///
/// The value of a claim never has a slash or a star, and in the pattern a slash separates a claim from stars and other claims.
/// Otherwise `user-{sub}*` would give user 4 the feeds of user 42, and `{a}-{b}` could be read in two ways.
package struct ClaimPattern: Sendable, Equatable {
  private struct Part: Equatable {
    let claim: ClaimPath
    let rest: String
  }

  private let start: String
  private var parts: [Part] = []

  package static let allowed = """
    patterns of ids such as "user-{sub}/*": {NAME} stands for a claim, by its name or by a JSON pointer such as \
    {/resource/id}; a slash separates it from each * and from other claims
    """

  /// - Returns: nil if it is empty, or not ``allowed``.
  package init?(_ text: String) {
    // By scalars: with a combining mark, a brace or a star is another character, and the same byte.
    let pieces = text.unicodeScalars.split(separator: "{", omittingEmptySubsequences: false).map {
      $0.split(separator: "}", omittingEmptySubsequences: false).map { String($0) }
    }
    let unseparated = /[*}][^\/]*\{|\}[^\/]*\*/.matchingSemantics(.unicodeScalar)
    guard !text.isEmpty, pieces[0].count == 1, !text.contains(unseparated) else { return nil }
    start = pieces[0][0]
    for piece in pieces.dropFirst() {
      guard piece.count == 2, let claim = ClaimPath(piece[0]) else { return nil }
      parts.append(Part(claim: claim, rest: piece[1]))
    }
  }

  /// The pattern for a token; nil if it lacks one of the claims, or if a value could make the pattern match more.
  func filled(with claims: ClaimValue) -> String? {
    var text = start
    for part in parts {
      guard case .text(let value) = part.claim.value(in: claims), !value.isEmpty,
        !value.utf8.contains(where: "*/".utf8.contains)
      else { return nil }
      text += value + part.rest
    }
    return text
  }
}

/// A value in a token.
enum ClaimValue: Decodable, Equatable {
  case text(String)
  case list([ClaimValue])
  case object([String: ClaimValue])
  case null
  case other

  init(from decoder: any Decoder) throws {
    // Deeper values, which users could have chosen, are not needed.
    if decoder.codingPath.count > ClaimPath.mostLevels + 2 {
      self = .other
    } else if let members = try? [String: ClaimValue](from: decoder) {
      self = .object(members)
    } else if let values = try? [ClaimValue](from: decoder) {
      self = .list(values)
    } else {
      let value = try decoder.singleValueContainer()
      self = value.decodeNil() ? .null : (try? value.decode(String.self)).map { .text($0) } ?? .other
    }
  }
}
