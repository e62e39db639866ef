import Testing

@testable import Feed

@Suite struct QuotedForMessageTests {
  private func quoted(_ text: String) -> String { ByteText(text).quotedForMessage }

  @Test func `text is quoted, and a JSON string keeps its own quotes`() {
    #expect(quoted("abc") == "\"abc\"")
    #expect(quoted("7") == "\"7\"")
    #expect(quoted("") == "\"\"")
    #expect(quoted("{\"a\":1}") == "\"{\"a\":1}\"")
    #expect(quoted("\"just text\"") == "\"just text\"")
  }

  @Test func `text with a quote at one end only is quoted`() {
    #expect(quoted("\"") == "\"\"\"")
    #expect(quoted("a\"") == "\"a\"\"")
  }

  @Test func `a JSON value is named with its type, and only a string is in quotes`() {
    func named(_ text: String) -> String { ByteText(text).withBytes { $0.valueForMessage() } }
    #expect(["17", "-1", "true", "null"].map(named) == ["the number 17", "the number -1", "true", "null"])
    #expect(named(#""17""#) == #""17""#)
    #expect(named(#"{"a":[]}"#) == #"the object {"a":[]}"#)
    #expect(
      named("[" + String(repeating: "é", count: 100))
        == "the array [\(String(repeating: "é", count: 39))… (201 bytes)"
    )
  }

  @Test func `long text is cut, and quoted once`() {
    let letters = String(repeating: "x", count: 100)
    #expect(quoted(letters) == "\"\(letters.prefix(80))…\" (100 bytes)")
    #expect(quoted("\"\(letters)\"") == "\"\(letters.prefix(79))…\" (102 bytes)")
  }
}
