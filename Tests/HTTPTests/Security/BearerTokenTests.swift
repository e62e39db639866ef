import FeedTestSupport
import HTTP
import Testing

@Suite struct BearerTokenTests {
  private func read(_ text: String) throws -> BearerToken {
    let file = try SecretTestFile(text)
    return try withExtendedLifetime(file) { try BearerToken(file: file.path) }
  }

  @Test func `a file contains one token`() throws {
    let token = try BearerToken("0123456789abcdef")
    #expect(try read("0123456789abcdef") == token)
    #expect(try read("\n 0123456789abcdef\r\n\n") == token)
    #expect(try read(String(repeating: "x", count: 4096) + "\n") != token)
  }

  @Test(arguments: ["", "\n", "0123456789abcde", "0123456789 abcdef", "0123456789abcdé"])
  func `an invalid token is refused with the remedy`(_ text: String) throws {
    let error = try #require(throws: HTTPServerError.self) { try read(text) }
    #expect(error.code == .token)
    #expect(error.message.contains("16 to 4096 visible ASCII characters"))
    #expect(error.message.contains("feedstore-secret-"))
    #expect(throws: HTTPServerError.self) { try BearerToken(text) }
    #expect(throws: HTTPServerError.self) { try BearerToken(String(repeating: "x", count: 4097)) }
  }

  @Test func `a file that cannot be read is named`() throws {
    let error = try #require(throws: HTTPServerError.self) { try BearerToken(file: "/nowhere/token") }
    #expect(error.message == "cannot read /nowhere/token: No such file or directory")
  }

  @Test func `the token is never printed`() throws {
    let token = try BearerToken("0123456789abcdef")
    #expect(!"\(token)".contains("0123"))
    var configuration = HTTPServerConfiguration()
    configuration.tokens.bearer = token
    #expect(!"\(configuration)".contains("0123"))
    #expect(!String(reflecting: configuration).contains("0123"))
    var text = ""
    dump(configuration, to: &text)
    #expect(!text.contains("0123") && !text.contains("elements"))
  }
}
