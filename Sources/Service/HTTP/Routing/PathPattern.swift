/// A path pattern with parameters: `/feeds/{feed}/items/{item}`.
struct PathPattern: Sendable, Equatable {
  private enum Part: Sendable, Equatable {
    case literal(String)
    case parameter(String)
  }

  private let parts: [Part]

  /// - Parameter text: begins with a slash. A segment in braces matches any non-empty text. An invalid pattern is a
  ///   programming error and ends the process.
  init(_ text: String) {
    precondition(text.hasPrefix("/"), "the path \(text) does not begin with a slash")
    parts = Self.parts(of: text).map { part in
      guard part.hasPrefix("{"), part.hasSuffix("}") else { return .literal(String(part)) }
      return .parameter(String(part.dropFirst().dropLast()))
    }
    precondition(parts.count <= Self.mostParts, "the path \(text) has more than \(Self.mostParts) segments")
  }

  /// The parameters' values; nil if the path does not match.
  ///
  /// - Parameter path: the percent-decoded segments.
  func match(_ path: [String]) -> [String: String]? {
    guard path.count == parts.count else { return nil }
    var parameters: [String: String] = [:]
    for (part, text) in zip(parts, path) {
      switch part {
      case .literal(let literal): guard literal == text else { return nil }
      case .parameter(let name):
        guard !text.isEmpty else { return nil }
        parameters[name] = text
      }
    }
    return parameters
  }

  /// Whether it takes precedence over another pattern: where they first differ, it has a literal.
  func isMoreSpecific(than other: PathPattern) -> Bool {
    for (first, second) in zip(parts, other.parts) {
      switch (first, second) {
      case (.literal, .parameter): return true
      case (.parameter, .literal): return false
      default: continue
      }
    }
    return false
  }

  /// The maximum number of segments of a pattern.
  private static let mostParts = 16

  /// Splits a path into segments and decodes each separately, so that an encoded slash does not split a segment. A path
  /// with more segments than a pattern can have is not split further, so that it costs little; it matches nothing.
  ///
  /// - Returns: nil if the path does not begin with a slash, or has an invalid encoding.
  static func decodedParts(of path: String) -> [String]? {
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    var decoded: [String] = []
    for part in parts(of: path) {
      guard let part = PercentEncoding.decode(part) else { return nil }
      decoded.append(part)
    }
    return decoded
  }

  private static func parts(of path: String) -> [Substring] {
    path.utf8.dropFirst()
      .split(separator: UInt8(ascii: "/"), maxSplits: mostParts, omittingEmptySubsequences: false)
      .map { Substring($0) }
  }
}
