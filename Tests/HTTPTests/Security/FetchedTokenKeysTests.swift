import FeedTestSupport
import Foundation
import Testing

@testable import HTTP

/// When keys are fetched, and how long they stay. Tests/SecurityTests has a provider.
@Suite struct FetchedTokenKeysTests {
  private static let second: Int64 = 1_000
  private static let hour: Int64 = 3_600_000
  private let source = FetchedTokenKeys("https://provider.example/keys", authority: "", issuer: "")

  private static func keys(_ ids: String...) throws -> TokenKeys {
    let keys = ids.map {
      #"""
      {"kty":"EC","crv":"P-256","kid":"\#($0)","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
       "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}
      """#
    }
    let text = #"{"keys":[\#(keys.joined(separator: ","))]}"#
    return try TokenKeys("test", published: Array(text.utf8))
  }

  private static let failure = Result<TokenKeys, HTTPServerError>.failure(HTTPServerError(.tokenKeys, "down"))

  /// The number of keys for a token; nil if it may be accepted later.
  private func found(_ id: String?, at now: Int64) -> Int? {
    try? source.keys("ES256", id: id, at: now).count
  }

  private func fetch(_ result: Result<TokenKeys, HTTPServerError>, at now: Int64) {
    #expect(source.begin(at: now))
    #expect(!source.begin(at: now), "one at a time")
    source.end(result, at: now)
  }

  @Test func `keys are fetched at the start, each hour, and when asked to`() throws {
    #expect(found("a", at: 0) == nil && source.status.fetchedAt == nil)
    fetch(.success(try Self.keys("a")), at: 0)
    #expect(found("a", at: 0) == 1 && found(nil, at: 0) == 1 && source.status.keys == 1)
    #expect(!source.begin(at: Self.hour - 1))
    fetch(.success(try Self.keys("b", "c")), at: Self.hour)
    #expect(found("b", at: Self.hour) == 1 && source.status.keys == 2)
    source.refresh()
    #expect(source.begin(at: Self.hour + 1))
    // Asked to while a fetch is under way.
    source.refresh()
    source.end(.success(try Self.keys("b")), at: Self.hour + 2)
    fetch(.success(try Self.keys("b")), at: Self.hour + 2)
    #expect(!source.begin(at: Self.hour + 3))
  }

  @Test func `an unknown key is fetched once in 30 seconds`() throws {
    fetch(.success(try Self.keys("a")), at: 0)
    #expect(found("b", at: 29 * Self.second) == 0 && !source.begin(at: 29 * Self.second))
    #expect(found("b", at: 30 * Self.second) == nil)
    #expect(source.begin(at: 30 * Self.second))
    // Meanwhile the token may be accepted later, and tokens of known keys are accepted.
    #expect(found("b", at: 31 * Self.second) == nil && found("a", at: 31 * Self.second) == 1)
    source.end(.success(try Self.keys("a")), at: 32 * Self.second)
    #expect(found("b", at: 33 * Self.second) == 0 && !source.begin(at: 33 * Self.second))
    // A token without an id, and another algorithm without one, ask for nothing.
    #expect(try source.keys("RS256", id: nil, at: 100 * Self.second).isEmpty)
    #expect(!source.begin(at: 100 * Self.second))
    #expect(found("c", at: 100 * Self.second) == nil)
    fetch(.success(try Self.keys("a", "c")), at: 100 * Self.second)
    #expect(found("c", at: 100 * Self.second) == 1)
  }

  @Test func `the former keys stay for a day while fetches fail`() throws {
    fetch(Self.failure, at: 0)
    #expect(found("a", at: 0) == nil && source.status.failure == "down" && source.status.fetchedAt == nil)
    #expect(!source.begin(at: 999))
    fetch(.success(try Self.keys("a")), at: Self.second)
    #expect(source.status.failure == nil)
    var now = Self.hour + Self.second
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] as [Int64] {
      fetch(Self.failure, at: now)
      #expect(!source.begin(at: now + pause * Self.second - 1))
      now += pause * Self.second
    }
    #expect(source.status.failure == "down" && source.status.fetchedAt != nil && source.status.keys == 1)
    #expect(found("a", at: 24 * Self.hour + Self.second - 1) == 1)
    #expect(found("a", at: 24 * Self.hour + Self.second) == nil && found(nil, at: 25 * Self.hour) == nil)
    fetch(Self.failure, at: 25 * Self.hour)
    #expect(source.status.keys == 0)
    fetch(.success(try Self.keys("a")), at: 26 * Self.hour)
    #expect(found("a", at: 26 * Self.hour) == 1)
  }

  @Test func `a published set has no secrets`() throws {
    let keys = """
      {"keys":[{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}]}
      """
    let error = try #require(throws: HTTPServerError.self) {
      try TokenKeys("https://a/", published: Array(keys.utf8))
    }
    #expect(error.message.contains("keys[0]: everyone can read this secret"), "\(error)")
  }

  @Test func `of two keys with one id the first is used`() throws {
    let keys = try Self.keys("a", "a")
    #expect(
      keys.count == 1 && keys.keys("ES256", id: "a").count == 1 && keys.keys("ES256", id: nil).count == 1
    )
    #expect(keys.faults?.contains(#"test: keys[1] (kid "a"): an earlier key has this kid"#) == true)
  }
}
