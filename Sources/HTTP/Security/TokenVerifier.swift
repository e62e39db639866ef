/// Verifies signed tokens, JSON Web Tokens (RFC 7519), and determines their rights. The keys are never printed.
///
/// A token determines nothing about its verification, except which of the known keys it names: keys in a token, or references
/// to keys, are ignored. Encrypted and nested tokens are rejected.
package struct TokenVerifier: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  private let policy: TokenPolicy
  /// The keys of a file; nil for a URL.
  private let keys: TokenKeys?
  /// The keys of a URL; nil for a file.
  package private(set) var fetched: FetchedTokenKeys?

  /// Larger tokens are rejected without reading them.
  private static let mostBytes = 8 << 10
  /// The maximum number of keys to try, so that a forged token costs little.
  private static let mostTried = 16

  /// - Parameters:
  ///   - place: the path or the `https` URL of a JSON Web Key Set.
  ///   - authority: the path of certificates of authorities that sign the URL's certificate; empty for the system's.
  /// - Throws: ``HTTPServerError`` with the code `tokenKeys`.
  package init(keys place: String, authority: String = "", _ policy: TokenPolicy) throws(HTTPServerError) {
    self.policy = policy
    let isURL = FetchedTokenKeys.isURL(place)
    if !authority.isEmpty { _ = try TLSCredentials.read(authority, .clientAuthority) }
    keys = isURL ? nil : try TokenKeys(place)
    fetched = isURL ? FetchedTokenKeys(place, authority: authority, issuer: policy.issuer) : nil
  }

  /// Goes on with the keys of another verifier that were fetched from the same URL.
  package mutating func takeKeys(of other: TokenVerifier?) {
    if let kept = other?.fetched, kept == fetched { fetched = kept }
  }

  private struct Header: Decodable {
    let alg: String
    let kid: String?
    let crit: [String]?
  }

  private struct Claims: Decodable {
    /// One text, or a list of texts.
    struct Audience: Decodable {
      let all: [String]

      init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let one = try? value.decode(String.self) {
          all = [one]
        } else {
          all = try value.decode([String].self)
        }
      }
    }

    let exp: Double
    let nbf: Double?
    let iss, sub: String?
    let aud: Audience?
  }

  /// The rights of a token.
  ///
  /// - Parameter now: in milliseconds since 1970.
  /// - Throws: ``TokenFault``; a refusal for now if there are no keys yet.
  func rights(of token: [UInt8], at now: Int64) throws -> AccessRights {
    guard token.count <= Self.mostBytes else {
      throw TokenFault("the token has more than \(Self.mostBytes) bytes")
    }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let decoded = parts.compactMap { Base64URL.decode(String(decoding: $0, as: UTF8.self)) }
    guard parts.count == 3, decoded.count == 3, let header: Header = try? DecodableJSON(decoded[0]).decode()
    else { throw TokenFault("it is not a signed JSON Web Token") }
    guard DecodableJSON(decoded[0]).repeated == nil else { throw TokenFault("the header has a name twice") }
    // The meaning of a critical extension is unknown.
    guard header.crit == nil else { throw TokenFault("crit is not supported") }
    guard TokenKeys.algorithms.contains(header.alg) else {
      throw TokenFault("the algorithm must be one of \(TokenKeys.algorithms.joined(separator: ", "))")
    }
    let candidates =
      try keys?.keys(header.alg, id: header.kid) ?? fetched?.keys(header.alg, id: header.kid) ?? []
    guard candidates.count <= Self.mostTried else { throw TokenFault("the token must name its key (kid)") }
    let text = Array(token[..<parts[1].endIndex])
    guard candidates.contains(where: { $0.verify(text, signature: decoded[2]) }) else {
      throw TokenFault("the signature is not valid")
    }
    let (claims, values) = try claims(decoded[1], at: now)
    let (read, write, contents) = try policy.patterns(values)
    return AccessRights(
      read: read,
      write: write,
      contents: contents,
      expires: Self.milliseconds(claims.exp) + policy.leewayMilliseconds,
      subject: claims.sub
    )
  }

  private func claims(_ payload: [UInt8], at now: Int64) throws(TokenFault) -> (Claims, ClaimValue) {
    let (claims, values): (Claims, ClaimValue)
    let text = DecodableJSON(payload)
    guard text.repeated == nil else { throw TokenFault("the claims have a name twice") }
    do {
      (claims, values) = (try text.decode(), try text.decode())
    } catch let error as DecodingError {
      if case .keyNotFound(let key, _) = error { throw TokenFault("the claim \(key.stringValue) is missing") }
      // The place consists of the above names, and of numbers.
      throw TokenFault(
        error.place.isEmpty ? "the claims are not an object" : "the claim \(error.place) is not valid"
      )
    } catch {
      throw TokenFault("the claims cannot be read")
    }
    let leeway = policy.leewayMilliseconds
    guard now < Self.milliseconds(claims.exp) + leeway else { throw TokenFault("the token has expired") }
    if let start = claims.nbf, now < Self.milliseconds(start) - leeway {
      throw TokenFault("the token is not valid yet")
    }
    guard policy.issuer.isEmpty || claims.iss == policy.issuer else {
      throw TokenFault("the issuer is another one")
    }
    guard policy.audience.isEmpty || claims.aud?.all.contains(policy.audience) == true else {
      throw TokenFault("the token is for another audience")
    }
    return (claims, values)
  }

  private static func milliseconds(_ seconds: Double) -> Int64 {
    Int64(max(-1e18, min(1e18, seconds * 1000)))
  }

  /// The unusable keys of a file, for the log; nil for none.
  package var leftOut: String? { keys?.faults }

  /// Does not reveal the keys.
  package var description: String { "keys of tokens" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a token is rejected, for the client: without information about keys.
struct TokenFault: HTTPRefusing {
  /// ASCII without quotation marks and backslashes; nil without a token, or with a wrong one.
  let reason: String?

  static let missing = TokenFault(nil)

  init(_ reason: String?) { self.reason = reason }

  var response: HTTPResponse {
    let detail = reason ?? "send a token that this server accepts: Authorization: Bearer TOKEN"
    let code = reason == nil ? "token-needed" : "invalid-token"
    let parameters = reason.map { " error=\"invalid_token\", error_description=\"\($0)\"" } ?? ""
    let headers = [HTTPField("WWW-Authenticate", "Bearer" + parameters)]
    return HTTPRefusal(401, code, detail, headers: headers).response
  }
}
