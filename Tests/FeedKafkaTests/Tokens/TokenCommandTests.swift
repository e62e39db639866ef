import Foundation
import Kafka
import Testing

@testable import FeedKafka

/// The output of programs, and what is shown of it.
@Suite struct TokenCommandTests {
  /// In milliseconds since 1970.
  private static let now: Int64 = 1_000_000

  private static func jwt(_ claims: String) -> String {
    let payload = Data(claims.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
    return "eyJhbGciOiJub25lIn0.\(payload.filter { $0 != "=" }).c2ln"
  }

  private static func read(_ output: String) throws -> TokenSource.Token {
    try TokenCommand.token(in: output, at: now)
  }

  @Test(arguments: [1, 2, 3]) func `a JWT alone ends when it says`(size: Int) throws {
    let text = Self.jwt(#"{"sub":"\#(String(repeating: "ÿ?", count: size))","exp":1060.5}"#)
    let token = try Self.read("\n \(text)\r\n")
    #expect(token == (text, 1_060_500, 60_500))
  }

  @Test(
    arguments: [
      #"{"access_token": "opaque", "expires_in": 60, "token_type": "Bearer"}"#,
      #"{"expires_in": "60", "access_token": "opaque"}"#,
      "{\n  \"access_token\": \"opaque\",\n  \"expires_in\": 60.0\n}\n",
    ]
  ) func `an answer in JSON ends after expires_in`(output: String) throws {
    #expect(try Self.read(output) == ("opaque", 1_060_000, 60_000))
  }

  @Test func `expires_in takes precedence over the claim`() throws {
    let text = Self.jwt(#"{"exp":2000}"#)
    #expect(try Self.read(#"{"access_token":"\#(text)","expires_in":60}"#).end == 1_060_000)
    #expect(try Self.read(#"{"access_token":"\#(text)"}"#).end == 2_000_000)
  }

  @Test func `a very long life is bounded`() throws {
    #expect(try Self.read(#"{"access_token":"a","expires_in":1e300}"#).duration == 253_402_300_799_000)
  }

  @Test(
    arguments: [
      ("", "printed nothing"),
      (" \n", "printed nothing"),
      ("<html><body>Sign in</body></html>", "neither a JWT nor JSON"),
      ("{\"access_token\": \"a", "neither a JWT nor JSON"),
      ("[]", "neither a JWT nor JSON"),
      (String(repeating: "[", count: 60_000), "neither a JWT nor JSON"),
      ("{}", "neither a JWT nor JSON"),
      (#"{"access_token": ""}"#, "neither a JWT nor JSON"),
      (#"{"access_token": "a b", "expires_in": 60}"#, "neither a JWT nor JSON"),
      (#"{"access_token": "a\u0001auth=x", "expires_in": 60}"#, "neither a JWT nor JSON"),
      (#"{"access_token": "é", "expires_in": 60}"#, "neither a JWT nor JSON"),
      (#"{"access_token": ["a"], "expires_in": 60}"#, "neither a JWT nor JSON"),
      ("opaque", "without its end"),
      (#"{"access_token": "a", "expires_in": "soon"}"#, "without its end"),
      (#"{"access_token": "a", "expires_in": NaN}"#, "without its end"),
      ("a.b.c", "without its end"),
      (jwt("[1]"), "without its end"),
      (jwt(#"{"exp":1000}"#), "ended at 1970-01-01T00:16:40"),
      (#"{"access_token": "a", "expires_in": 0}"#, "ended at"),
      (#"{"access_token": "a", "expires_in": -1e99}"#, "ended at"),
      (
        #"{"error": "invalid_client", "error_description": "no such client"}"#,
        "invalid_client no such client"
      ),
    ]
  ) func `other output is refused with the reason`(output: String, reason: String) {
    let error = #expect(throws: (any Error).self) { try Self.read(output) }
    #expect("\(error!)".contains(reason))
  }

  @Test(
    arguments: [
      "password=hunter2", "PASSWORD: hunter2", #"{"client_secret": "hunter2 hunter2"}"#,
      "--client-secret hunter2",
      "Authorization: Bearer hunter2", "api-key='hunter2'", "hunter2hunter2hunter2",
      "access_token=hunter2&x=1",
      "AWS_SECRET_ACCESS_KEY=hunter2", "AWS_SESSION_TOKEN=hunter2", "hunter2/Hunter2+Hunter2/hunter2",
    ]
  ) func `text that looks like a secret is hidden`(text: String) {
    #expect(!TokenCommand.masked(text).lowercased().contains("hunter2"))
  }

  @Test(
    arguments: [
      "could not connect to sts.eu-west-1.amazonaws.com:443 after 30 s",
      "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
      "/usr/lib/python3.11/site-packages/botocore/auth.py", "HTTP 401 Unauthorized",
    ]
  ) func `ordinary text is shown`(text: String) {
    #expect(TokenCommand.masked(text) == text)
  }

  @Test func `a program runs without a shell`() throws {
    let token = try TokenCommand(["printf", "%s", #"{"access_token":"$HOME;","expires_in":60}"#, "x"])
      .runError()
    #expect(token.contains("neither a JWT"))
    let fine = try TokenCommand(["printf", "%s", #"{"access_token":"abc","expires_in":60}"#]).run()
    #expect(fine.value == "abc")
    #expect((1...60_000).contains(fine.duration))
  }

  @Test func `a program that cannot be started is named`() throws {
    #expect(
      try TokenCommand(["/no/such/program"]).runError().contains(
        "kafka.oauth.command: cannot start /no/such/program: No such file"
      )
    )
  }

  @Test func `a failure has the end of standard error without secrets`() throws {
    let script =
      "echo begin >&2; yes progress | head -n 1000 >&2; echo password=hunter2 >&2; echo the end >&2; exit 7"
    let error = try TokenCommand(["sh", "-c", script]).runError()
    #expect(error.hasPrefix("sh, the program of kafka.oauth.command, ended with code 7; on standard error: "))
    #expect(error.hasSuffix("| password=*** | the end"))
    #expect(!error.contains("begin"))
    #expect(error.count < 1_200)
  }

  @Test func `a program that is killed or never ends is reported`() throws {
    #expect(try TokenCommand(["sh", "-c", "kill -9 $$"]).runError().contains("was killed by signal 9"))
    let hanging = TokenCommand(["sh", "-c", "exec >&- 2>&-; sleep 100000"], timeoutMilliseconds: 100)
    #expect(try hanging.runError().contains("did not end within 100 ms"))
    let endless = TokenCommand(["sh", "-c", "yes & yes >&2 & wait"], timeoutMilliseconds: 600_000)
    #expect(try endless.runError().contains("printed more than 65536 bytes"))
  }

  @Test func `a child that stays does not delay the token`() throws {
    let script = #"sleep 100000 & echo '{"access_token":"abc","expires_in":60}'"#
    #expect(try TokenCommand(["sh", "-c", script], timeoutMilliseconds: 600_000).run().value == "abc")
  }
}

extension TokenCommand {
  fileprivate func runError() throws -> String {
    "\(try #require(throws: (any Error).self) { _ = try run() })"
  }
}
