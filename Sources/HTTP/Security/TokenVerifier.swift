/// Verifies signed tokens, JSON Web Tokens (RFC 7519), and determines their rights. The keys are never printed.
///
/// A token determines nothing about its verification, except which of the known keys it names: keys in a token, or references
/// to keys, are ignored. Encrypted and nested tokens are rejected.
package struct TokenVerifier: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  private let file: String
  private let issuer: String
  private let audience: String
  /// The tolerance for differences of clocks, in milliseconds.
  private let leeway: Int64
  private let keys: TokenKeys

  /// Larger tokens are rejected without reading them.
  private static let mostBytes = 8 << 10
  /// The maximum number of keys to try, so that a forged token costs little.
  private static let mostTried = 16

  /// - Parameters:
  ///   - file: a JSON Web Key Set.
  ///   - issuer: the required issuer (`iss`); empty for any.
  ///   - audience: the required audience (`aud`); empty for any.
  ///   - leeway: tokens are accepted this many milliseconds before their start (`nbf`) and after their end (`exp`).
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

  /// The rights of a token.
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
    // The meaning of a critical extension is unknown.
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
      // The place consists of the above names, and of numbers.
      throw TokenFault(
        error.place.isEmpty ? "the claims are not an object" : "the claim \(error.place) is not valid"
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

  /// The unusable keys, for the log; nil for none.
  package var leftOut: String? {
    keys.faults.map { "\(file): \($0); RSA needs 2048 bits, a secret 32 bytes" }
  }

  /// Does not reveal the keys.
  package var description: String { "the keys of \(file)" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a token is rejected, for the client: without information about keys.
struct TokenFault: HTTPRefusing {
  /// ASCII without quotation marks and backslashes; nil without a token, or with a wrong one.
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
