import CGnutls
import FeedTestSupport
import Foundation
import Testing

@testable import HTTP

/// The examples of RFC 7515, appendices A.1 and A.3. Tests/SecurityTests has tokens of another implementation.
@Suite struct TokenVerifierTests {
  private static let keys = #"""
    {"keys":[
     {"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"},
     {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
    """#
  private static let claims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
  private static let tokens = [
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\(claims).dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    "eyJhbGciOiJFUzI1NiJ9.\(claims)."
      + "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
  ]
  private static let end: Int64 = 1_300_819_380_000

  private func verifier(
    keys: String = keys,
    issuer: String = "",
    audience: String = "",
    leeway: Int64 = 0,
    _ change: (inout TokenPolicy) -> Void = { _ in }
  ) throws -> TokenVerifier {
    let file = try SecretTestFile(keys)
    var policy = TokenPolicy()
    (policy.issuer, policy.audience, policy.leewayMilliseconds) = (issuer, audience, leeway)
    change(&policy)
    return try withExtendedLifetime(file) { try TokenVerifier(keys: file.path, policy) }
  }

  private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
      "=",
      with: ""
    )
  }

  /// A token that the first of the keys has signed, from the parts as they are.
  private static func signed(_ header: String, _ claims: String) throws -> [UInt8] {
    let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
    let key = try #require(Base64URL.decode(secret))
    let text = Array("\(header).\(claims)".utf8)
    var signature = [UInt8](repeating: 0, count: 32)
    #expect(gnutls_hmac_fast(GNUTLS_MAC_SHA256, key, key.count, text, text.count, &signature) == 0)
    return text + Array(".\(encoded(signature))".utf8)
  }

  private static func signed(header: String = #"{"alg":"HS256"}"#, claims: String) throws -> [UInt8] {
    try signed(encoded(header.utf8), encoded(claims.utf8))
  }

  @Test(arguments: tokens)
  func `a token is valid until the millisecond of its end`(token: String) throws {
    let verifier = try verifier(issuer: "joe")
    let rights = try verifier.rights(of: Array(token.utf8), at: Self.end - 1)
    #expect(rights.expires == Self.end && rights.subject == nil)
    #expect(!rights.mayRead("a") && !rights.mayWrite("a"))
    let late = #expect(throws: TokenFault.self) { try verifier.rights(of: Array(token.utf8), at: Self.end) }
    #expect(late?.reason == "the token has expired")
  }

  @Test(arguments: tokens)
  func `a token with one other bit is not valid`(token: String) throws {
    let verifier = try verifier()
    let bytes = Array(token.utf8)
    for index in bytes.indices {
      var other = bytes
      other[index] ^= 1
      #expect(throws: TokenFault.self) { try verifier.rights(of: other, at: 0) }
    }
    #expect(throws: Never.self) { try verifier.rights(of: bytes, at: 0) }
  }

  @Test func `a token of another issuer, or without the audience, is not valid`() throws {
    let token = Array(Self.tokens[0].utf8)
    #expect(throws: TokenFault.self) { try verifier(issuer: "Joe").rights(of: token, at: 0) }
    #expect(throws: TokenFault.self) { try verifier(audience: "feeds").rights(of: token, at: 0) }
  }

  @Test func `clocks may differ by the leeway, and a token ends after it`() throws {
    let verifier = try verifier(leeway: 5_000)
    let token = try Self.signed(claims: #"{"nbf":100,"exp":200,"feedstore":{"read":["a"]}}"#)
    let early = #expect(throws: TokenFault.self) { try verifier.rights(of: token, at: 94_999) }
    #expect(early?.reason == "the token is not valid yet")
    #expect(try verifier.rights(of: token, at: 95_000).expires == 205_000)
    #expect(try verifier.rights(of: token, at: 204_999).mayRead("a"))
    let late = #expect(throws: TokenFault.self) { try verifier.rights(of: token, at: 205_000) }
    #expect(late?.reason == "the token has expired")
    let last = try Self.signed(claims: #"{"nbf":-1e300,"exp":1e300}"#)
    #expect(try verifier.rights(of: last, at: .max / 100).expires == 1_000_000_000_000_005_000)
  }

  @Test(arguments: [
    (#"{"alg":"HS256"}"#, #"{"exp":9,"exp":1}"#), (#"{"alg":"HS256"}"#, #"{"exp":9,"\u0065xp":9}"#),
    (#"{"alg":"HS256"}"#, #"{"exp":9,"feedstore":{"read":["a"]},"feedstore":{"read":["*"]}}"#),
    (#"{"alg":"HS256"}"#, #"{"exp":9,"feedstore":{"read":["a"],"write":[],"read":["*"]}}"#),
    (#"{"alg":"HS256"}"#, #"{"exp":9,"feedstore":{"read":["a"],"r\u0065ad":["*"]}}"#),
    (#"{"alg":"HS256"}"#, #"{"exp":9,"cnf":{"jwk":{"kty":"EC","kty":"oct"}}}"#),
    (#"{"alg":"HS256"}"#, #"{"exp":9,"aud":"x","aud":["feeds"]}"#),
    (#"{"alg":"HS256","alg":"none"}"#, #"{"exp":9}"#),
    (#"{"alg":"HS256","al\u0067":"HS256"}"#, #"{"exp":9}"#),
    (#"{"alg":"HS256","x":{"a":1,"a":2}}"#, #"{"exp":9}"#),
  ])
  func `a token that has a name twice is not valid`(header: String, claims: String) throws {
    let verifier = try verifier()
    let token = try Self.signed(header: header, claims: claims)
    let fault = #expect(throws: TokenFault.self) { try verifier.rights(of: token, at: 0) }
    #expect(
      fault?.reason
        == (claims == #"{"exp":9}"# ? "the header has a name twice" : "the claims have a name twice")
    )
  }

  @Test func `a token has one spelling`() throws {
    let verifier = try verifier()
    // Claims of 10 bytes, whose encoding ends with four bits that do not count, and a pattern with - and _ in the encoding.
    let (header, claims) = (Self.encoded(#"{"alg":"HS256"}"#.utf8), Self.encoded(#"{"exp":9} "#.utf8))
    let odd = Self.encoded(#"{"exp":9,"sub":"~~~???>>>"}"#.utf8)
    #expect(odd.contains("-") && odd.contains("_") && claims.hasSuffix("A"))
    for good in [claims, odd] {
      #expect(throws: Never.self) { try verifier.rights(of: Self.signed(header, good), at: 0) }
    }
    for bad in [
      claims + "==", claims + "=", claims.dropLast() + "B", odd.replacing("-", with: "+"),
      odd.replacing("_", with: "/"), claims + "\n", " " + claims,
      claims.prefix(4) + " " + claims.dropFirst(4),
    ] {
      let fault = #expect(throws: TokenFault.self) {
        try verifier.rights(of: Self.signed(header, bad), at: 0)
      }
      #expect(fault?.reason == "it is not a signed JSON Web Token", "\(bad)")
    }
    let padded = try Self.signed(header + "=", claims)
    #expect(throws: TokenFault.self) { try verifier.rights(of: padded, at: 0) }
    #expect(throws: TokenFault.self) {
      try verifier.rights(of: Self.signed(header, claims) + Array("=".utf8), at: 0)
    }
  }

  @Test func `header and claims are UTF-8 without a byte order mark`() throws {
    let verifier = try verifier()
    let (header, claims) = (#"{"alg":"HS256"}"#, #"{"exp":9,"sub":""#)
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let (right, wrong) = (Array(#"a"}"#.utf8), [0xFF] + Array(#""}"#.utf8))
    func check(_ header: [UInt8], _ claims: [UInt8]) throws -> AccessRights {
      try verifier.rights(of: Self.signed(Self.encoded(header), Self.encoded(claims)), at: 0)
    }
    #expect(try check(Array(header.utf8), Array(claims.utf8) + right).subject == "a")
    #expect(throws: TokenFault.self) { try check(mark + header.utf8, Array(claims.utf8) + right) }
    #expect(throws: TokenFault.self) { try check(Array(header.utf8), mark + claims.utf8 + right) }
    #expect(throws: TokenFault.self) { try check(Array(header.utf8), Array(claims.utf8) + wrong) }
    let wide: [UInt8] = #"{"exp":9}"#.utf8.flatMap { [$0, 0] as [UInt8] }
    #expect(throws: TokenFault.self) { try check(Array(header.utf8), wide) }
  }

  /// Other services' keys that cannot be used.
  static let oddKeys = [
    (
      #"{"kty":"RSA","kid":"x","n":"\#(String(repeating: "_", count: 171))g","e":"AQAB"}"#,
      #"keys[0] (kid "x"): "#
    ),
    (#"{"kty":"oct","kid":"x","k":"c2hvcnQ"}"#, #"keys[0] (kid "x"): "#),
    (
      #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow=="}"#,
      "keys[0]: "
    ),
    (#"{"kid":"x","alg":"RS256"}"#, #"keys[0] (kid "x"): kty is missing"#), ("{}", "keys[0]: kty is missing"),
    (#"{"kty":"RSA","kid":"x","e":"AQAB"}"#, #"keys[0] (kid "x"): a member is missing"#),
    (#"{"kty":"RSA","kid":"x","x5c":["MIIB"]}"#, #"keys[0] (kid "x"): a member is missing"#),
    (
      #"{"kty":"EC","crv":"P-256","kid":"x","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"}"#,
      #"keys[0] (kid "x"): a member is missing"#
    ),
    (#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"AA"}"#, "keys[0]: "),
    (#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T","kid":17}"#, "keys[0].kid: "),
    (
      #"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T","kid":"x","alg":5}"#,
      #"keys[0].alg (kid "x"): "#
    ),
    (#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T","use":["sig"]}"#, "keys[0].use: "),
    (#"{"kty":5}"#, "keys[0].kty: "), ("5", "keys[0]: "), ("null", "keys[0]"), (#""a""#, "keys[0]: "),
    ("[]", "keys[0]: "),
    (#"{"kty":"AKP","kid":"x","pub":"AA"}"#, #"keys[0] (kid "x"): "AKP" is not supported"#),
    (#"{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}"#, #"keys[0]: "EC P-521" is not supported"#),
    (#"{"kty":"RSA","alg":"PS256","n":"AA","e":"AQAB"}"#, #"keys[0]: "RSA PS256" is not supported"#),
  ]

  @Test(arguments: oddKeys)
  func `a key that cannot be used is left out and named, and the others work`(
    key: String,
    reason: String
  ) throws {
    let token = Array(Self.tokens[0].utf8)
    let keys = Self.keys.replacing(#"{"keys":["#, with: #"{"keys":[\#(key),{"kty":"AKP","use":"enc"},"#)
    let verifier = try verifier(keys: keys)
    #expect(throws: Never.self) { try verifier.rights(of: token, at: 0) }
    let leftOut = try #require(verifier.leftOut)
    #expect(leftOut.contains(": \(reason)"), "\(leftOut)")
    #expect(!leftOut.contains("keys[1]") && !leftOut.contains("AyM1"))
    let error = try #require(throws: HTTPServerError.self) { try self.verifier(keys: #"{"keys":[\#(key)]}"#) }
    #expect(error.message.contains("has no key for RS256, ES256, EdDSA, HS256 (\(reason)"), "\(error)")
  }

  @Test(arguments: [
    (#""keys":[],"keys""#, "keys"), (#""k\u0065ys":[],"keys""#, "keys"), (#""x":{"a":1,"a":2},"keys""#, "a"),
  ])
  func `a file of keys that has a name twice is refused`(names: String, name: String) throws {
    let keys = Self.keys.replacing(#""keys""#, with: names)
    let error = try #require(throws: HTTPServerError.self) { try verifier(keys: keys) }
    #expect(error.message.hasSuffix(": an object has \"\(name)\" twice; remove one of the two"))
    let key = Self.keys.replacing(#""crv":"P-256""#, with: #""crv":"P-256","crv":"P-256""#)
    let inner = try #require(throws: HTTPServerError.self) { try verifier(keys: key) }
    #expect(inner.message.contains("an object has \"crv\" twice"))
  }

  @Test(arguments: [#"{"keys":{}}"#, #"{"keys":null}"#, "{}", "[]", "\u{FEFF}{\"keys\":[]}", ""])
  func `what is not a set of keys is refused`(text: String) throws {
    let error = try #require(throws: HTTPServerError.self) { try verifier(keys: text) }
    #expect(error.message.contains("is not a set of keys") && error.code == .tokenKeys)
  }

  @Test func `nothing is left out of keys that can be used, or are for other purposes`() throws {
    #expect(try verifier().leftOut == nil)
    let keys = Self.keys.replacing(
      #"{"keys":["#,
      with: #"{"keys":[{"kty":"RSA","use":"enc","n":"AA","e":"AA"},"#
    )
    #expect(try verifier(keys: keys).leftOut == nil)
  }

  @Test func `the keys are never printed`() throws {
    let verifier = try verifier()
    var text = "\(verifier) \(String(reflecting: verifier))"
    dump(verifier, to: &text)
    #expect(!text.contains("AyM1") && !text.contains("first"))
  }
}
