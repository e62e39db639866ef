import FeedTestSupport
import Testing

@testable import HTTP

@Suite struct AccessRightsTests {
  /// Whether a pattern matches, by its definition: a star stands for nothing, or for a byte and what a star stands for.
  private static func matches(_ name: ArraySlice<UInt8>, _ pattern: ArraySlice<UInt8>) -> Bool {
    guard let first = pattern.first else { return name.isEmpty }
    guard first == UInt8(ascii: "*") else {
      return name.first == first && matches(name.dropFirst(), pattern.dropFirst())
    }
    return matches(name, pattern.dropFirst()) || !name.isEmpty && matches(name.dropFirst(), pattern)
  }

  @Test func `patterns match what their definition says`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed)
    func text(_ letters: [String], upTo count: Int) -> String {
      (0..<Int.random(in: 0...count, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }
        .joined()
    }
    for _ in 0..<20_000 {
      let patterns = (0..<Int.random(in: 0...3, using: &random)).map { _ in
        text(["a", "b", "é", "*"], upTo: 6)
      }
      let name = text(["a", "b", "é"], upTo: 8)
      let expected = patterns.contains { Self.matches(ArraySlice(name.utf8), ArraySlice($0.utf8)) }
      #expect(NamePatterns(patterns).match(name) == expected, "seed \(seed): \(patterns), \(name)")
    }
  }

  @Test func `a pattern with a thousand stars is matched in linear time`() {
    let name = String(repeating: "a", count: 255)
    let stars = String(repeating: "a*", count: 1000)
    // With 1000 nested choices it would not end.
    #expect(!NamePatterns([stars]).match(name))
    #expect(!NamePatterns([String(repeating: "*a", count: 200) + "*b"]).match(name))
    #expect(NamePatterns([String(repeating: "*a", count: 200) + "*"]).match(name))
    #expect(NamePatterns([String(repeating: "*", count: 1000)]).match(""))
  }

  @Test func `rights are those of the patterns`() {
    let rights = AccessRights(read: ["user-42/*", "news"], write: ["user-42/todo"], contents: ["user-42"])
    for feed in ["user-42/", "user-42/todo", "news"] { #expect(rights.mayRead(feed)) }
    for feed in ["user-42", "user-421/todo", "User-42/todo", " news", "news/", ""] {
      #expect(!rights.mayRead(feed))
    }
    #expect(rights.mayWrite("user-42/todo") && !rights.mayWrite("news"))
    // Contents are no feeds.
    #expect(rights.mayWrite(content: "user-42") && !rights.mayWrite("user-42"))
    #expect(!rights.mayWrite(content: "user-42/todo"))
    #expect(!rights.readsAll)
    #expect(AccessRights(read: ["a", "*"], write: []).readsAll)
    #expect(!AccessRights(read: [], write: ["*"]).mayRead("a"))
    #expect(AccessRights.all.readsAll && AccessRights.all.mayRead("a") && AccessRights.all.mayWrite(""))
    #expect(AccessRights.all.mayWrite(content: "a") && !AccessRights.none.mayWrite(content: "a"))
  }

  @Test func `names are compared byte by byte`() {
    // The same letter, composed and decomposed.
    #expect(!AccessRights(read: ["\u{E9}"], write: []).mayRead("e\u{301}"))
    #expect(!AccessRights(read: ["\u{E9}*"], write: []).mayRead("e\u{301}"))
  }
}
