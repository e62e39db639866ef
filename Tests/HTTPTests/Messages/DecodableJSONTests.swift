import FeedTestSupport
import FoundationEssentials
import Testing

@testable import HTTP
@testable import Settings

@Suite struct DecodableJSONTests {
  @Test(arguments: [
    (#"{"a":1,"a":2}"#, "a", #"{"a":2}"#),
    (#"{"a":1,"\u0061":2}"#, "a", #"{"a":2}"#),
    (#"{"\u0061":1, "b":3 ,"a":2}"#, "a", #"{"b":3,"a":2}"#),
    (#"{"a":{"b":[1,{"c":1,"d":2,"c":3}]}}"#, "c", #"{"a":{"b":[1,{"d":2,"c":3}]}}"#),
    (
      #"[{"a":1},{"a":{"x":1,"x":2},"b":0,"a":[{"y":1,"y":2}]}]"#, "x",
      #"[{"a":1},{"b":0,"a":[{"y":2}]}]"#
    ),
    (#"{"a":1,"a":2,"b":1,"a":3,"b":2}"#, "a", #"{"a":3,"b":2}"#),
    (#"{"":1,"":2}"#, "", #"{"":2}"#),
    (#"{"a\"}":1,"a\u0022}":2}"#, #"a"}"#, #"{"a\"}":2}"#),
    // Names that look the same are the same to the decoder.
    ("{\"\u{e9}\":1,\"e\u{301}\":2}", "e\u{301}", "{\"e\u{301}\":2}"),
  ])
  func `of members with the same name the last one counts`(text: String, name: String, same: String) throws {
    let json = DecodableJSON(Array(text.utf8))
    #expect(json.repeated == name)
    #expect(try json.decode(ConfigurationValue.self) == ConfigurationDocument.value(of: same))
  }

  @Test(arguments: [
    "{}", #"{"a":"a","b":["a","a"],"c":{"a":"b"}}"#, #"[{"a":1},{"a":1}]"#, #"{"a":{"a":{"a":"a"}}}"#,
    #"{"a":"\"b\":1,\"b\":2","b":"\\"}"#, #"{"A":1,"a":2}"#, #""a""#, "7",
  ])
  func `names that are not repeated stay`(text: String) throws {
    let json = DecodableJSON(Array(text.utf8))
    #expect(json.repeated == nil)
    #expect(try json.decode(ConfigurationValue.self) == ConfigurationDocument.value(of: text))
  }

  @Test func `random text is read as the decoder reads it, where no name is repeated`() throws {
    var random = SeededRandom(7)
    let parts = [
      "{", "}", "[", "]", ",", ":", "\"a\"", "\"\\u0061\"", "\"b\"", "1", "\"", "\\", " ", "{\"a\":",
      ",\"b\":1",
    ]
    var count = 0
    for _ in 0..<30_000 {
      let text = (0..<random.next(9)).map { _ in parts[random.next(parts.count)] }.joined()
      let json = DecodableJSON(Array(text.utf8))
      guard json.repeated == nil else { continue }
      let value = try? json.decode(ConfigurationValue.self)
      #expect(value == (try? JSONDecoder().decode(ConfigurationValue.self, from: Data(text.utf8))), "\(text)")
      count += value == nil ? 0 : 1
    }
    #expect(count > 100)
  }

  @Test func `other encodings and a byte order mark are refused, also where nothing is decoded`() {
    let text = #"{"a":1}"#
    let wide = text.utf16.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    let others: [[UInt8]] = [
      [0xEF, 0xBB, 0xBF] + Array(text.utf8), wide, [0xFF, 0xFE] + wide,
      text.utf8.flatMap { [0, 0, 0, $0] as [UInt8] },
      Array(#"{"a":1,"b":""#.utf8) + [0xFF] + Array("\"}".utf8),
    ]
    for bytes in others {
      #expect(throws: DecodingError.self) {
        try DecodableJSON(bytes).decode([String: ConfigurationValue].self)
      }
    }
  }

  @Test(arguments: [
    #"{}"a""#, #"[{}"a""#, #"{"a":1}"a""#, #"{]"a""#, #"[}"a""#, #"{"a":1,]"a""#, #"{"a"]}"a","a""#, "", "{",
    "[", "\"", "\"\\", #"{"a"#, #"{"a\"#, #"{"a" "a" "a""#, "}]}", "{,,", #"{"a":1,"a""#, "]\"a\"",
    #"{"\ud800":1,"\ud800":2}"#, String(repeating: "[", count: 100_000),
    String(repeating: #"{"":"#, count: 100_000),
  ])
  func `text that is not JSON is refused`(text: String) {
    #expect(throws: (any Error).self) { try DecodableJSON(Array(text.utf8)).decode(ConfigurationValue.self) }
  }
}
