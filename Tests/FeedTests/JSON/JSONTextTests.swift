import Oracle
import Testing

@testable import Feed

@Suite struct JSONTextTests {
  private func verdict(_ bytes: [UInt8]) -> JSONVerdict { withSpan(bytes) { JSONVerdict($0, JSONIndexer()) } }

  private static let texts = [
    #"{"op":"item.upsert","item":"a","data":{"n":[1,-0,1.10,1e400,2E-7],"s":"\u00e9\ud83d\ude00\n"}}"#,
    #" [ 1 , "two" , null , true , false , { "a" : { } , "b" : [ ] } ] "#,
    #""a \"quoted\" \\ string""#, "0", "-12.5e+3", "true", "[[[[1]]]]", #"{"":"","a":1,"a":2}"#,
  ]

  @Test func `accepts and refuses what the naive parser does, for mutations of texts`() {
    var random = SplitMix64(seed: 5)
    let alphabet =
      Array(#"{}[]:,"\0123456789-+.eE truefalsn/u"#.utf8) + [0x0A, 0x0B, 0x00, 0xC3, 0xA9, 0xFF, 0xED, 0xA0]
    for text in Self.texts {
      let original = Array(text.utf8)
      #expect(verdict(original) == JSONVerdict.expected(original), "\(text)")
      for _ in 0..<1500 {
        var bytes = original
        for _ in 0...random.below(2) {
          let position = random.below(bytes.count + 1)
          switch random.below(3) {
          case 0: bytes.insert(alphabet[random.below(alphabet.count)], at: position)
          case 1: if position < bytes.count { bytes.remove(at: position) }
          default: if position < bytes.count { bytes[position] = alphabet[random.below(alphabet.count)] }
          }
        }
        #expect(
          verdict(bytes) == JSONVerdict.expected(bytes),
          "\(String(decoding: bytes, as: UTF8.self)) \(bytes)"
        )
      }
    }
  }

  @Test func `nesting of a million brackets is measured, not followed`() {
    let deep = [UInt8](repeating: 0x5B, count: 1_000_000) + [UInt8](repeating: 0x5D, count: 1_000_000)
    guard case .json(let depth, _) = verdict(deep) else {
      Issue.record("valid nesting was refused")
      return
    }
    #expect(depth == 1_000_000)
    #expect(verdict(Array(deep.dropLast())) == .invalidJSON)
  }

  @Test(arguments: [
    (#"{1:2}"#, JSONFault.Reason.unexpectedCharacter, 1), (#"{"a" "b"}"#, .unexpectedCharacter, 5),
    (#"{"a","b"}"#, .unexpectedCharacter, 4), (#"{"a"}"#, .unexpectedCharacter, 4),
    (#"{"a":}"#, .unexpectedCharacter, 5),
    (#"{"a":1,}"#, .unexpectedCharacter, 7), (#"{"a":1]"#, .unexpectedCharacter, 6),
    (#"[1}"#, .unexpectedCharacter, 2),
    (#"[1,]"#, .unexpectedCharacter, 3), (#"[1 2]"#, .unexpectedCharacter, 3),
    (#"1 2"#, .unexpectedCharacter, 2),
    (#"1,2"#, .unexpectedCharacter, 1), (#"]"#, .unexpectedCharacter, 0),
    (#"{"a":1}}"#, .unexpectedCharacter, 7),
    ("{", .unexpectedEnd, 1), (#"{"a""#, .unexpectedEnd, 4), (#"{"a":"#, .unexpectedEnd, 5),
    (#"{"a":1"#, .unexpectedEnd, 6),
    (#"{"a":1,"#, .unexpectedEnd, 7), (#"{"a":1,"b""#, .unexpectedEnd, 10), ("[", .unexpectedEnd, 1),
    ("[1,", .unexpectedEnd, 3),
    ("1 \0", .unexpectedCharacter, 2), ("{}\0", .unexpectedCharacter, 2), ("\"\"\0", .unexpectedCharacter, 2),
    (#"{"\q":1}"#, .invalidEscape, 3), (#"["a","\u12"]"#, .invalidEscape, 7),
  ])
  func `says what is wrong, and where`(_ text: String, _ reason: JSONFault.Reason, _ offset: Int) {
    let indexer = JSONIndexer()
    #expect(throws: JSONFault(reason, at: offset)) {
      _ = try withSpan(Array(text.utf8)) { try indexer.validated($0).depth }
    }
  }

  @Test func `scalars end where the text ends`() {
    for text in ["1", "-", "tru", "nul", "1.", "\"", "\"a", "01", "1 ", " 1", "", " "] {
      #expect(verdict(Array(text.utf8)) == JSONVerdict.expected(Array(text.utf8)), "\(text)")
    }
  }

  /// The members of the outer object with the texts of their values.
  private func members(_ text: JSONText) -> [String] {
    var members: [String] = []
    let arena = ScratchArena()
    text.forEachMember(of: 0, arena: arena) { name, value in
      members.append("\(name.text)=\(text.span(from: value.first, to: value.end).text)")
    }
    return members
  }

  @Test(arguments: [
    #"{"a":{"b":[{},[1]]},"c":[[],{"d":"x y"}],"e":12,"f":""}"#,
    #" {"a":{"b":[{},[1]]},"c":[[],{"d":"x y"}],"e":12,"f":""}"#,
    #"{"a":{"b":[{},[1]]},"c":[[],{"d":"x y"}],"e":12,"f":""} "#,
    #"{ "a" : {"b":[{},[1]]} , "c" : [[],{"d":"x y"}] , "e" : 12 , "f" : "" }"#,
  ])
  func `values end where they end, with and without white space`(_ spelling: String) throws {
    let indexer = JSONIndexer()
    let found = try withSpan(Array(spelling.utf8)) { members(try indexer.validated($0)) }
    #expect(found == [#"a={"b":[{},[1]]}"#, #"c=[[],{"d":"x y"}]"#, "e=12", #"f="""#])
  }

  @Test func `an indexer serves texts of any size one after the other`() throws {
    let indexer = JSONIndexer()
    let large = "{\"a\":[" + String(repeating: "[],", count: 700_000) + "1],\"b\":2}"
    for spelling in [#"{"a":[1],"b":2}"#, large, #"{"a":[1],"b":2}"#, large] {
      let found = try withSpan(Array(spelling.utf8)) { members(try indexer.validated($0)) }
      #expect(found.count == 2 && found.last == "b=2")
      indexer.trim()
    }
  }
}
