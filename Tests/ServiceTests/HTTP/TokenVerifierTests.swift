import Testing

@testable import Service

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

  private func verifier(issuer: String = "", audience: String = "") throws -> TokenVerifier {
    let file = try SecretTestFile(Self.keys)
    return try withExtendedLifetime(file) {
      try TokenVerifier(keysFile: file.path, issuer: issuer, audience: audience)
    }
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
    // Of the last letter not every bit counts.
    for index in bytes.indices.dropLast() {
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

  @Test func `the keys are never printed`() throws {
    let verifier = try verifier()
    var text = "\(verifier) \(String(reflecting: verifier))"
    dump(verifier, to: &text)
    #expect(!text.contains("AyM1") && !text.contains("first"))
  }
}
