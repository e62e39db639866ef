import OperatingSystem

/// A secret that clients send as `Authorization: Bearer …` (RFC 6750). It is never printed.
///
/// On an untrusted network, serve HTTPS, or use a proxy that does.
package struct BearerToken: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  /// A shorter token could be guessed.
  package static let minimumLength = 16
  private static let maximumLength = 4096
  private let bytes: [UInt8]

  /// - Parameter text: 16 to 4096 visible ASCII characters.
  /// - Throws: ``HTTPServerError`` with the code `token`.
  package init(_ text: String) throws(HTTPServerError) {
    try self.init(Array(text.utf8), from: "the token")
  }

  /// Reads a file that contains only the token. Only the process's user may be able to read it. Surrounding white space
  /// is ignored.
  ///
  /// - Throws: ``HTTPServerError`` with the code `token`.
  package init(file: String) throws(HTTPServerError) {
    // Two bytes more than a token, for a line break.
    let most = Self.maximumLength + 2
    let bytes = try Result { () throws(FileError) in try SecretFile.bytes(file, atMost: most) }
      .mapError { HTTPServerError(.token, $0.description) }.get()
    let text = bytes.drop(while: Self.isSpace)
    let end = text.lastIndex { !Self.isSpace($0) }.map { $0 + 1 } ?? text.startIndex
    try self.init(Array(text[..<end]), from: file)
  }

  private init(_ bytes: [UInt8], from place: String) throws(HTTPServerError) {
    let lengths = Self.minimumLength...Self.maximumLength
    guard lengths.contains(bytes.count), bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw HTTPServerError(
        .token,
        """
        \(place): a token must be \(Self.minimumLength) to \(Self.maximumLength) visible ASCII characters without \
        spaces; make one with: head -c 32 /dev/urandom | base64
        """
      )
    }
    self.bytes = bytes
  }

  /// The token in an `Authorization` value; nil if there is none.
  fileprivate static func shown(by authorization: String?) -> [UInt8]? {
    guard let parts = authorization?.split(separator: " ", maxSplits: 1), parts.count == 2,
      parts[0].lowercased() == "bearer"
    else { return nil }
    return Array(parts[1].utf8.trimmingSpaces())
  }

  /// Whether it is this token. The comparison takes constant time.
  fileprivate func matches(_ shown: [UInt8]) -> Bool {
    var difference: UInt8 = shown.count == bytes.count ? 0 : 1
    for (index, byte) in bytes.enumerated() { difference |= byte ^ (index < shown.count ? shown[index] : 0) }
    return difference == 0
  }

  /// Does not reveal the secret.
  package var description: String { "a token of \(bytes.count) characters" }
  package var customMirror: Mirror { Mirror(self, children: []) }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}

/// The accepted tokens, one of which clients must send; none if everyone who can connect is admitted.
package struct AcceptedTokens: Sendable, Equatable {
  /// A token with all rights.
  package var bearer: BearerToken?
  /// Verifies tokens with their own rights.
  package var verifier: TokenVerifier?

  package init(bearer: BearerToken? = nil, verifier: TokenVerifier? = nil) {
    self.bearer = bearer
    self.verifier = verifier
  }

  package var isEmpty: Bool { bearer == nil && verifier == nil }

  /// The rights of a client with this header; none without a token.
  ///
  /// - Parameters:
  ///   - authorization: the value of the header field; nil if it is missing.
  ///   - now: in milliseconds since 1970.
  func rights(_ authorization: String?, at now: Int64) throws -> AccessRights {
    guard let shown = BearerToken.shown(by: authorization) else { throw TokenFault.missing }
    if bearer?.matches(shown) == true { return .all }
    guard let verifier else { throw TokenFault.missing }
    return try verifier.rights(of: shown, at: now)
  }
}
