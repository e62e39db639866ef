/// A client's rights, by its token.
package struct AccessRights: Sendable {
  /// The rights of a client that needs no token, or has the server's own.
  package static let all = AccessRights(read: ["*"], write: ["*"], contents: ["*"])
  static let none = AccessRights(read: [], write: [])

  /// The expiry of its token, in milliseconds since 1970; nil for never.
  package let expires: Int64?
  /// The subject of its token; nil if the token names none.
  package let subject: String?
  /// Whether the client has sent no token, although there are tokens.
  var isAnonymous = false
  /// The feeds that everyone may read.
  var publicFeeds: NamePatterns?
  private let read: NamePatterns
  private let write: NamePatterns
  private let contents: NamePatterns

  /// - Parameters:
  ///   - read: patterns of the ids of readable feeds; in a pattern, `*` matches any text.
  ///   - write: patterns of the ids of writable feeds.
  ///   - contents: patterns of the ids of writable contents.
  package init(
    read: [String],
    write: [String],
    contents: [String] = [],
    expires: Int64? = nil,
    subject: String? = nil
  ) {
    self.read = NamePatterns(read)
    self.write = NamePatterns(write)
    self.contents = NamePatterns(contents)
    self.expires = expires
    self.subject = subject
  }

  /// Whether every feed is readable.
  package var readsAll: Bool { read.matchesAll }

  /// Whether both tokens have the same subject, or neither has one.
  package func belong(with other: AccessRights) -> Bool {
    subject == other.subject && (expires == nil) == (other.expires == nil)
      && isAnonymous == other.isAnonymous
  }

  package func mayRead(_ feed: String) -> Bool { publicFeeds?.match(feed) == true || read.match(feed) }

  package func mayWrite(_ feed: String) -> Bool { write.match(feed) }

  package func mayWrite(content: String) -> Bool { contents.match(content) }
}

/// Patterns of names, compared byte by byte: `*` matches any text, other bytes match themselves.
package struct NamePatterns: Sendable, Equatable {
  /// Whether one of them is `*`.
  let matchesAll: Bool
  /// The patterns without a star.
  private var names: Set<[UInt8]> = []
  /// The pieces around the stars of each other pattern.
  private var pieces: [[[UInt8]]] = []

  package init(_ patterns: [String]) {
    matchesAll = patterns.contains { !$0.isEmpty && $0.utf8.allSatisfy { $0 == UInt8(ascii: "*") } }
    for pattern in patterns {
      let parts = pattern.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map {
        Array($0)
      }
      if parts.count == 1 { names.insert(parts[0]) } else { pieces.append(parts) }
    }
  }

  package func match(_ name: String) -> Bool {
    if matchesAll { return true }
    let name = Array(name.utf8)
    return names.contains(name) || pieces.contains { Self.match(name, $0) }
  }

  /// Whether the pieces occur one after the other, the first at the beginning and the last at the end. The earliest position
  /// of each piece leaves the most room for the others, so each is searched for once.
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
