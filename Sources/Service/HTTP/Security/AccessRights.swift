/// What a client may do, as its token says.
package struct AccessRights: Sendable {
  /// Those of a client that needs no token, or has the server's own.
  package static let all = AccessRights(read: ["*"], write: ["*"])

  /// When its token ends, in milliseconds since 1970; nil for never.
  package let expires: Int64?
  /// Whose token it is; nil if the token does not say.
  package let subject: String?
  private let read: NamePatterns
  private let write: NamePatterns

  /// - Parameters:
  ///   - read: patterns of the ids of feeds that may be read; in a pattern, `*` stands for any text.
  ///   - write: the same for those that may be changed.
  package init(read: [String], write: [String], expires: Int64? = nil, subject: String? = nil) {
    self.read = NamePatterns(read)
    self.write = NamePatterns(write)
    self.expires = expires
    self.subject = subject
  }

  /// Whether every feed may be read.
  package var readsAll: Bool { read.matchesAll }

  /// Whether the tokens are the same person's, as far as they say.
  package func belong(with other: AccessRights) -> Bool {
    subject == other.subject && (expires == nil) == (other.expires == nil)
  }

  package func mayRead(_ feed: String) -> Bool { read.match(feed) }

  package func mayWrite(_ feed: String) -> Bool { write.match(feed) }
}

/// Patterns of names, compared byte by byte: `*` stands for any text, everything else for itself.
struct NamePatterns: Sendable {
  /// Whether one of them is `*`.
  let matchesAll: Bool
  /// Those without a star.
  private var names: Set<[UInt8]> = []
  /// What is around and between the stars of each other one.
  private var pieces: [[[UInt8]]] = []

  init(_ patterns: [String]) {
    matchesAll = patterns.contains { !$0.isEmpty && $0.utf8.allSatisfy { $0 == UInt8(ascii: "*") } }
    for pattern in patterns {
      let parts = pattern.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map {
        Array($0)
      }
      if parts.count == 1 { names.insert(parts[0]) } else { pieces.append(parts) }
    }
  }

  func match(_ name: String) -> Bool {
    if matchesAll { return true }
    let name = Array(name.utf8)
    return names.contains(name) || pieces.contains { Self.match(name, $0) }
  }

  /// Whether the pieces occur one after the other, the first at the beginning and the last at the end. The earliest place of
  /// each piece leaves the most room for the others, so none is searched for twice.
  private static func match(_ name: [UInt8], _ pieces: [[UInt8]]) -> Bool {
    let (first, last) = (pieces[0], pieces[pieces.count - 1])
    guard name.count >= first.count + last.count, name.starts(with: first),
      name.suffix(last.count).elementsEqual(last)
    else { return false }
    var rest = name[first.count..<name.count - last.count]
    for piece in pieces[1..<pieces.count - 1] where !piece.isEmpty {
      guard let place = rest.firstRange(of: piece) else { return false }
      rest = rest[place.upperBound...]
    }
    return true
  }
}
