import Oracle
import Testing

@testable import Feed

/// Texts that end directly before memory that cannot be read.
@Suite struct JSONBoundsTests {
  private static let texts = [
    #"{"op":"item.upsert","item":"é","data":{"n":[1,-0,1.10],"s":"\u00e9\ud83d\ude00 😀"}}"#,
    "\t{ \"€\" : [ true , null ] ,\r\n \"a\\\\\" : \"\\\"\" } ", #"["a",{},[],{"":-12.5e+3}]"#, #""é€😀""#,
    "12",
    "true",
  ]

  /// Texts after the beginning of a text; some are valid in some places.
  private static let characters: [String] = [
    "", "\"", "\\", "\\\"", "\\u", "\\u00", "\\ud800", "\\udc00\"", "1", " ", "}", "]", ",", "{", "é\"",
    "\\é\"", "😀\"",
  ]

  private static let bytes: [[UInt8]] = [
    // Lead bytes without continuation, and truncated characters.
    [0xC3], [0xE2], [0xE2, 0x82], [0xF0], [0xF0, 0x9F], [0xF0, 0x9F, 0x98], [0xC3, 0x22], [0xE2, 0x82, 0x22],
    // Continuation bytes without a lead byte, overlong forms, surrogates, and code points beyond Unicode.
    [0x80], [0xBF, 0x22], [0xC0, 0x80], [0xC1, 0xBF, 0x22], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF, 0x22],
    [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF, 0x22], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF, 0x22],
    [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80, 0x22], [0xFE], [0xFF],
    // Control characters.
    [0x00], [0x01], [0x0A], [0x0C], [0x1A], [0x1F], [0x7F], [0x1F, 0x22], [0xEF, 0xBB, 0xBF],
  ]

  private static let tails: [[UInt8]] = characters.map { Array($0.utf8) } + bytes

  private let pages = GuardedPages(capacity: 4096)

  private let indexer = JSONIndexer()
  private let decoder = RecordDecoder(limits: Limits())

  /// Compares the verdict on a text, and the rejection of a record with that value, with the oracle.
  private func check(_ bytes: [UInt8]) -> Bool {
    let expected = JSONVerdict.expected(bytes)
    let span = pages.place(bytes)
    let verdict = JSONVerdict(span, indexer)
    let code = rejection(of: span)
    let isAsExpected =
      switch expected {
      case .invalidUTF8: code == .invalidUTF8
      case .invalidJSON: code == .invalidJSON
      case .json: code != .invalidUTF8 && code != .invalidJSON
      }
    if verdict == expected, isAsExpected { return true }
    Issue.record("\(verdict) and \(code as Any), expected \(expected), for \(bytes)")
    return false
  }

  /// The rejection of a record with that value, if any.
  private func rejection(of value: ByteSpan) -> RejectCode? {
    do throws(Rejection) {
      try decoder.decode(key: ByteSpan("f" as StaticString), value: value)
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `texts that are cut anywhere, with anything behind, are what the oracle says`() {
    for text in Self.texts {
      let bytes = Array(text.utf8)
      for length in 0...bytes.count {
        for tail in Self.tails {
          guard check(Array(bytes.prefix(length)) + tail) else { return }
        }
      }
    }
  }

  @Test(arguments: ["\"", " ", "[", "1", "\"é", "\"\\\\", "\"€", "é"])
  func `texts of any length up to three blocks are what the oracle says`(beginning: String) {
    for length in 0...200 {
      let filling = Array(beginning.utf8.suffix(beginning.utf8.count > 1 ? beginning.utf8.count - 1 : 1))
      var bytes = Array(beginning.utf8)
      while bytes.count < length { bytes += filling }
      // A quarter of them with each length, so that each combines with every fourth.
      for number in Self.tails.indices where number % 4 == length % 4 {
        guard check(Array(bytes.prefix(length)) + Self.tails[number]) else { return }
      }
    }
  }

  @Test(arguments: RandomCases.seeds(1...4))
  func `random bytes of those that matter are what the oracle says`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let alphabet: [[UInt8]] =
      Array(#"{}[]:,"\"01-.eE tfn/u"#.utf8).map { [$0] } + Self.tails + [
        Array("true".utf8), Array("\"\"".utf8),
      ]
    for _ in 0..<3000 {
      let bytes = (0...random.below(40)).flatMap { _ in alphabet[random.below(alphabet.count)] }
      guard check(bytes) else {
        Issue.record("seed \(seed)")
        return
      }
    }
  }

  @Test func `texts of many blocks are what the oracle says`() {
    let text = "[" + String(repeating: "{\"a\\\\\":\"é\\\"😀\",\"b\":[1, 2.5e1,null]} ,", count: 60) + "0]"
    #expect(check(Array(text.utf8)))
  }
}
