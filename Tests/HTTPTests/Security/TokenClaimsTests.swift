import FeedTestSupport
import Foundation
import Testing

@testable import HTTP

@Suite struct TokenClaimsTests {
  private static func claims(_ text: String) throws -> ClaimValue {
    try DecodableJSON(Array(text.utf8)).decode()
  }

  @Test(arguments: [
    ("sub", "ada"), ("https://example.org/a/b", "namespaced"), ("/resource/id", "7"),
    ("/list/1/name", "second"),
    ("/a~1b/c~0d", "escaped"), ("/~01", "tilde"), ("a.b", "dots"), ("/", "empty"),
  ])
  func `a claim has a name or a pointer`(path: String, value: String) throws {
    let claims = try Self.claims(
      #"""
      {"sub":"ada","https://example.org/a/b":"namespaced","resource":{"id":"7"},"list":[1,{"name":"second"}],"a/b":{"c~d":"escaped"},
       "~1":"tilde","a.b":"dots","":"empty","a":{"b":"wrong"}}
      """#
    )
    #expect(try #require(ClaimPath(path)).value(in: claims) == .text(value))
  }

  @Test(arguments: [
    "/list/01", "/list/-1", "/list/+1", "/list/2", "/list/name", "/list/1/x", "/sub/x", "/sub/0", "Sub",
    "sub/", "/resource/id/",
    "//sub", "resource", "/list/99999999999999999999",
  ])
  func `a claim that is missing has no text`(path: String) throws {
    let claims = try Self.claims(#"{"sub":"ada","resource":{"id":"7"},"list":["a",{"name":"b"}]}"#)
    let value = try #require(ClaimPath(path)).value(in: claims)
    if case .text = value { Issue.record("\(path) has a text") }
  }

  @Test(arguments: [
    "", "/a~", "/a~2", "/~/a", "a b", "a\"", "a\\", "a{b}", "é", "a\n", "/1/2/3/4/5/6/7/8/9",
  ])
  func `a path that is not a name or a pointer is refused`(path: String) {
    #expect(ClaimPath(path) == nil)
  }

  @Test(arguments: [
    ("news", "news"), ("*", "*"), ("user-{sub}/*", "user-ada/*"), ("{sub}", "ada"), ("*/{sub}/*", "*/ada/*"),
    ("{sub}/{/resource/id}", "ada/7"), ("a*b/{https://example.org/x}", "a*b/n"),
    ("user-{sub}-todo", "user-ada-todo"),
    ("{sub}/*{sub}", nil), ("äß/{sub}", "äß/ada"), ("*/x*/{sub}", "*/x*/ada"),
    ("e\u{301}{sub}", "e\u{301}ada"),
  ])
  func `a pattern is filled with claims`(text: String, filled: String?) throws {
    let claims = try Self.claims(#"{"sub":"ada","resource":{"id":"7"},"https://example.org/x":"n"}"#)
    #expect(ClaimPattern(text)?.filled(with: claims) == filled)
  }

  @Test(arguments: [
    "", "{", "}", "{}", "a{sub", "a}b", "{sub}}", "{{sub}}", "{a b}", "{/~2}", "user-{sub}*", "*{sub}",
    "*-{sub}", "{sub}-*/x",
    "{a}{b}", "{a}-{b}", "{a}/x*-{b}", "a/*{sub}", "{sub}\u{301}*", "{sub\u{301}}", "x}\u{301}",
    "{\u{301}sub}",
  ])
  func `a pattern in which a claim could match more is refused`(text: String) {
    #expect(ClaimPattern(text) == nil)
  }

  @Test(arguments: [
    "", "*", "4*2", "*\u{301}", "\u{301}*", "**", "/", "42/todo", "/\u{301}", "42/", "*\u{200D}", "a\u{0}*",
  ])
  func `a value that is empty or could match more gives no right`(value: String) throws {
    let pattern = try #require(ClaimPattern("user-{sub}/*"))
    #expect(pattern.filled(with: .object(["sub": .text(value)])) == nil)
  }

  @Test(arguments: [
    "{}", #"{"sub":null}"#, #"{"sub":42}"#, #"{"sub":true}"#, #"{"sub":["42"]}"#, #"{"sub":{"":"42"}}"#,
    #"{"SUB":"42"}"#,
    #"{"x":{"sub":"42"}}"#, "[]", "null", #""42""#,
  ])
  func `a value that is missing or not a string gives no right`(claims: String) throws {
    for text in ["user-{sub}/*", "{sub}", "a/{sub}/b", "{/sub}"] {
      #expect(try #require(ClaimPattern(text)).filled(with: Self.claims(claims)) == nil)
    }
  }

  /// With every value of two characters of those with a meaning, a pattern matches only feeds of this value.
  @Test func `no value gives access to the feeds of another one`() throws {
    let pieces = ["", "a", "*", "/", "{", "}", "{sub}", "%2F", ".", "\u{301}", "\\", "\u{0}", " ", "?"]
    let values = pieces.flatMap { first in pieces.map { first + $0 } }
    for text in ["u-{sub}/*", "{sub}/x", "*/{sub}/*", "u-{sub}"] {
      let pattern = try #require(ClaimPattern(text))
      for own in values {
        guard let filled = pattern.filled(with: .object(["sub": .text(own)])) else { continue }
        let rights = AccessRights(read: [filled], write: [])
        for other in values
        where Array(other.utf8) != Array(own.utf8) && !other.utf8.contains(UInt8(ascii: "/")) {
          let feed = text.replacing("{sub}", with: other).replacing("*", with: "n")
          // A star in the other value became an n, which is another value.
          guard !other.utf8.contains(UInt8(ascii: "*")) else { continue }
          #expect(!rights.mayRead(feed), "\(own.debugDescription) reads \(feed.debugDescription)")
        }
      }
    }
  }

  @Test func `rights of the claim and of every token are added`() throws {
    var policy = TokenPolicy()
    policy.claim = "/resource_access/feeds"
    policy.read = [try #require(ClaimPattern("user-{sub}/*")), try #require(ClaimPattern("org/{org}"))]
    policy.write = [try #require(ClaimPattern("user-{sub}/todo"))]
    policy.contents = [try #require(ClaimPattern("user-{sub}"))]
    let patterns = try policy.patterns(
      Self.claims(
        #"{"sub":"7","resource_access":{"feeds":{"read":["news"],"write":null,"contents":["post-*"]}},"feedstore":{"read":["*"]}}"#
      )
    )
    #expect(patterns.read == ["news", "user-7/*"] && patterns.write == ["user-7/todo"])
    #expect(patterns.contents == ["post-*", "user-7"])
    #expect(try policy.patterns(Self.claims("{}")).read.isEmpty)
  }

  @Test(arguments: [
    (#"{"feedstore":5}"#, ""), (#"{"feedstore":["*"]}"#, ""), (#"{"feedstore":"*"}"#, ""),
    (#"{"feedstore":{"read":"*"}}"#, ".read"),
    (#"{"feedstore":{"read":{"0":"*"}}}"#, ".read"), (#"{"feedstore":{"write":["a",null]}}"#, ".write[1]"),
    (#"{"feedstore":{"contents":true}}"#, ".contents"),
  ])
  func `rights that are not lists of patterns are refused`(claims: String, place: String) throws {
    let fault = #expect(throws: TokenFault.self) { try TokenPolicy().patterns(Self.claims(claims)) }
    #expect(fault?.reason == "the claim feedstore\(place) is not valid")
  }

  @Test func `deep claims take no more of the stack`() throws {
    let depth = 500
    let claims = try Self.claims(
      #"{"sub":"7","x":"# + String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "}"
    )
    #expect(ClaimPath("sub")?.value(in: claims) == .text("7"))
    #expect(ClaimPath("/x/0/0/0/0/0/0/0")?.value(in: claims) != nil)
  }
}
