import Testing

@testable import Oracle

struct OracleOutputTests {
  @Test func xxh32HasTheKnownVectors() {
    let vectors: [(String, UInt32)] = [
      ("", 0x02CC_5D05), ("a", 0x550D_7456), ("abc", 0x32D1_53FF),
      ("Nobody inspects the spammish repetition", 0xE229_3B2F),
    ]
    for (input, hash) in vectors { #expect(OracleXXH32.hash(bytes(input)) == hash) }
  }

  @Test func `the checksum is a sum over neighbours`() {
    var feed = feed("today: a b | live:")
    feed.sections[0].items[1].kind = bytes("ad")
    let parts = ["s\0\0today", "s\0today\0live", "i\0today\0\0a\0", "i\0today\0a\0b\0ad"]
    let sum = parts.reduce(UInt32(0)) { $0 &+ OracleXXH32.hash(bytes($1)) }
    #expect(OracleChecksum.of(feed) == sum)
    #expect(OracleChecksum.of(OracleFeed()) == 0)
    #expect(OracleChecksum.text(0xABC) == "00000abc")
  }

  @Test func `times have three fractional digits`() {
    let times = [
      (1_795_168_800_250, "2026-11-20T10:00:00.250Z"), (0, "1970-01-01T00:00:00.000Z"),
      (951_827_696_789, "2000-02-29T12:34:56.789Z"), (-1, "1969-12-31T23:59:59.999Z"),
    ]
    for (milliseconds, text) in times { #expect(OracleTime.text(milliseconds: milliseconds) == text) }
  }

  @Test func `strings have only required escapes`() {
    var text = OracleText()
    text.addString("\"\\/\u{0}\u{8}\t\n\u{c}\r\u{1f}\u{7f}é😀")
    #expect(
      String(decoding: text.bytes, as: UTF8.self) == "\"\\\"\\\\/\\u0000\\b\\t\\n\\f\\r\\u001f\u{7f}é😀\""
    )
  }

  @Test func `the fewest moves are minimal`() {
    for order in Permutations.of(6) {
      let base = (0..<6).map { [UInt8($0)] }
      let list = OracleOrder(
        name: "list",
        base: base,
        result: order.map { base[$0] },
        isReplaced: true,
        placed: []
      )
      // By brute force: the smallest set whose complement keeps its order.
      let sizes = (0..<64).compactMap { mask -> Int? in
        let fixed = order.filter { mask >> $0 & 1 == 0 }
        return fixed == fixed.sorted() ? 6 - fixed.count : nil
      }
      #expect(list.fewest == sizes.min())
      #expect(list.complaint(about: list.fewestMoves) == nil)
      #expect((list.complaint(about: []) == nil) == (list.fewest == 0))
    }
  }

  @Test func `moves are bounded, and each changes a position`() {
    let base = ["a", "b", "c", "d"].map(bytes)
    func order(_ result: String, placed: String) -> OracleOrder {
      let ids = result.map { bytes(String($0)) }
      let set = Set(placed.map { bytes(String($0)) })
      return OracleOrder(name: "list", base: base, result: ids, isReplaced: placed.isEmpty, placed: set)
    }
    // d is first because b and c were placed last, one after the other.
    #expect(order("adbc", placed: "bc").complaint(about: [bytes("d")]) == nil)
    #expect(order("adbc", placed: "bc").complaint(about: [bytes("b"), bytes("c")]) == nil)
    #expect(order("adbc", placed: "").complaint(about: [bytes("b"), bytes("c")]) != nil)
    #expect(order("adbc", placed: "bcd").complaint(about: [bytes("d"), bytes("a")]) != nil)
    #expect(order("abcd", placed: "ab").complaint(about: [bytes("a")]) != nil)
  }
}
