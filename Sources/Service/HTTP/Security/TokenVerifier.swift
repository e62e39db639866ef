/// Verifies tokens that others have signed: JSON Web Tokens (RFC 7519), and says what they allow. The keys are never printed.
///
/// Nothing in a token says how it is verified, except which of the known keys it names: a token that brings a key, or refers to
/// one, is not believed. Encrypted and nested tokens are refused.
package struct TokenVerifier: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  private let file: String
  private let issuer: String
  private let audience: String
  /// How much clocks may differ, in milliseconds.
  private let leeway: Int64
  private let keys: TokenKeys

  /// A larger token is refused before it is read.
  private static let mostBytes = 8 << 10
  /// So many keys are tried, so that a forged token costs little.
  private static let mostTried = 16

  /// - Parameters:
  ///   - file: a JSON Web Key Set.
  ///   - issuer: who must have issued tokens (`iss`); empty for anyone.
  ///   - audience: for whom they must be (`aud`); empty for anyone.
  ///   - leeway: for so many milliseconds, tokens are accepted before their begin (`nbf`) and after their end (`exp`).
  /// - Throws: ``HTTPServerError`` with the code `tokenKeys`.
  package init(keysFile file: String, issuer: String, audience: String, leeway: Int64) throws(HTTPServerError)
  {
    self.file = file
    self.issuer = issuer
    self.audience = audience
    self.leeway = leeway
    keys = try TokenKeys(file: file)
  }

  private struct Header: Decodable {
    let alg: String
    let kid: String?
    let crit: [String]?
  }

  private struct Claims: Decodable {
    struct Grant: Decodable { let read, write: [String]? }

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
    let feedstore: Grant?
  }

  /// What a token allows.
  ///
  /// - Parameter now: in milliseconds since 1970.
  func rights(of token: [UInt8], at now: Int64) throws(TokenFault) -> AccessRights {
    guard token.count <= Self.mostBytes else {
      throw TokenFault("the token has more than \(Self.mostBytes) bytes")
    }
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let decoded = parts.compactMap { Base64URL.decode(String(decoding: $0, as: UTF8.self)) }
    guard parts.count == 3, decoded.count == 3, let header: Header = try? DecodableJSON(decoded[0]).decode()
    else { throw TokenFault("it is not a signed JSON Web Token") }
    guard DecodableJSON(decoded[0]).repeated == nil else { throw TokenFault("the header has a name twice") }
    // What a critical extension changes is not known.
    guard header.crit == nil else { throw TokenFault("crit is not supported") }
    guard TokenKeys.algorithms.contains(header.alg) else {
      throw TokenFault("the algorithm must be one of \(TokenKeys.algorithms.joined(separator: ", "))")
    }
    let candidates = keys.keys(header.alg, id: header.kid)
    guard candidates.count <= Self.mostTried else { throw TokenFault("the token must name its key (kid)") }
    let text = Array(token[..<parts[1].endIndex])
    guard candidates.contains(where: { $0.verify(text, signature: decoded[2]) }) else {
      throw TokenFault("the signature is not valid")
    }
    let claims = try claims(decoded[1], at: now)
    return AccessRights(
      read: claims.feedstore?.read ?? [],
      write: claims.feedstore?.write ?? [],
      expires: Self.milliseconds(claims.exp) + leeway,
      subject: claims.sub
    )
  }

  private func claims(_ payload: [UInt8], at now: Int64) throws(TokenFault) -> Claims {
    let claims: Claims
    let text = DecodableJSON(payload)
    guard text.repeated == nil else { throw TokenFault("the claims have a name twice") }
    do {
      claims = try text.decode()
    } catch let error as DecodingError {
      if case .keyNotFound(let key, _) = error { throw TokenFault("the claim \(key.stringValue) is missing") }
      // The place is made of the names above, and of numbers.
      throw TokenFault(
        error.place.isEmpty ? "the claims are no object" : "the claim \(error.place) is not valid"
      )
    } catch {
      throw TokenFault("the claims cannot be read")
    }
    guard now < Self.milliseconds(claims.exp) + leeway else { throw TokenFault("the token has expired") }
    if let start = claims.nbf, now < Self.milliseconds(start) - leeway {
      throw TokenFault("the token is not valid yet")
    }
    guard issuer.isEmpty || claims.iss == issuer else { throw TokenFault("the issuer is another one") }
    guard audience.isEmpty || claims.aud?.all.contains(audience) == true else {
      throw TokenFault("the token is for another audience")
    }
    return claims
  }

  private static func milliseconds(_ seconds: Double) -> Int64 {
    Int64(max(-1e18, min(1e18, seconds * 1000)))
  }

  /// The keys that are left out because they cannot be used, for the log; nil for none.
  package var leftOut: String? {
    keys.faults.map { "\(file): \($0); RSA needs 2048 bits, a secret 32 bytes" }
  }

  /// Does not reveal the keys.
  package var description: String { "the keys of \(file)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a token is not accepted, for the client: it never says anything about keys.
struct TokenFault: HTTPRefusing {
  /// ASCII without quotation marks and backslashes; nil if there is no token, or another one than the server's.
  let reason: String?

  static let missing = TokenFault(nil)

  init(_ reason: String?) { self.reason = reason }

  var response: HTTPResponse {
    let detail = reason ?? "send the token of this server: Authorization: Bearer TOKEN"
    let code = reason == nil ? "token-needed" : "invalid-token"
    let parameters = reason.map { " error=\"invalid_token\", error_description=\"\($0)\"" } ?? ""
    let headers = [HTTPField("WWW-Authenticate", "Bearer" + parameters)]
    return HTTPRefusal(401, code, detail, headers: headers).response
  }
}
