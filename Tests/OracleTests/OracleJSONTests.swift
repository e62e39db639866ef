import Oracle
import Testing

struct OracleJSONTests {
  @Test(arguments: [
    "0", "-0", "1.10", "1e400", "-1E+2", "123456789012345678901234567890", "\"\"", #""\u0000\/\ud83d\ude00""#,
    "[]",
    "{}", "[1,{\"a\":null,\"a\":true}]", "\"\u{7f}\u{2028}\"",
  ])
  func keepsTheSpelling(_ json: String) throws {
    #expect(text(try OracleJSON.parse(bytes(json)).minified) == json)
  }

  @Test func `white space outside strings is removed`() throws {
    let json = try OracleJSON.parse(bytes(" { \"a b\" :\t[ 1 ,\r\n 2 ] } "))
    #expect(text(json.minified) == #"{"a b":[1,2]}"#)
    #expect(json.last("a b").map { text($0.minified) } == "[1,2]")
  }

  @Test(arguments: [
    "", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "01", "1.", ".5", "+1", "-", "1e", "nul", "NaN",
    "truex",
    "1 2", "]", "[1}", "\"a", "\"\n\"", #""\x""#, #""\u12g4""#, #""\ud800""#, #""\udc00""#,
    #""\ud800\ud800""#,
    #"{"\ud83d":1}"#, "\u{FEFF}1", "\u{a0}1", "1\u{0}", "[1 2]", "{\"a\":1 \"b\":2}", "{,}", "[,]", "{\"a\"}",
  ])
  func `invalid JSON is refused`(_ json: String) {
    #expect(throws: OracleJSONError.invalidJSON) { try OracleJSON.parse(bytes(json)) }
  }

  @Test(arguments: [
    [0xFF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
    [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0x80], [0x22, 0xC3, 0x22],
  ])
  func refusesWhatIsNoUTF8(_ json: [UInt8]) {
    #expect(throws: OracleJSONError.invalidUTF8) { try OracleJSON.parse(json) }
  }

  @Test func `strings are decoded`() throws {
    let json = try OracleJSON.parse(bytes(#""\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83d\ude00é""#))
    #expect(json.string == bytes("\"\\/\u{8}\u{c}\n\r\té€😀é"))
  }

  @Test func `the depth is counted`() throws {
    for (json, depth) in [("1", 0), ("[]", 1), ("{}", 1), ("[1,[2]]", 2), ("{\"a\":{\"b\":[]}}", 3)] {
      #expect(try OracleJSON.parse(bytes(json)).depth == depth)
    }
  }

  @Test func `a million brackets do not overflow the stack`() {
    let open = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
    let closed = open + [UInt8](repeating: UInt8(ascii: "]"), count: 1_000_000)
    #expect(throws: OracleJSONError.tooDeep(1_000_000)) { try OracleJSON.parse(closed) }
    #expect(throws: OracleJSONError.invalidJSON) { try OracleJSON.parse(open) }
  }
}
