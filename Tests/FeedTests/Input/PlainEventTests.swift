import FeedTestSupport
import Testing

@testable import Feed

/// One short event in one record is read without an index of tokens. What comes of it is what comes of the index that simdjson
/// makes.
@Suite struct PlainEventTests {
  private let pages = GuardedPages(capacity: 1 << 16)

  private func pick<Element>(_ elements: [Element], _ random: inout SplitMix64) -> Element {
    elements[random.below(elements.count)]
  }

  /// An event, mostly of a right form.
  private func event(_ random: inout SplitMix64) -> String {
    let ids = [
      #""a""#, #""item-00000001""#, #""é😀""#, #""a\"b""#, #""a\u0041""#, "\"\"", "7",
      "\"\(String(repeating: "long ", count: random.below(60)))\"",
    ]
    let data = [
      "null", "-0", "12.50e-3", "true", #""text""#, #""\ud83d\ude00""#, #""\ud83d""#, "{}", "[]", "[[],{}]",
      #"{"title":"A story","score":1,"text":"line\nline \"quoted\" \\"}"#, #"{"a":"\u00e9"}"#,
      #"{"names":["é","ü",{"deep":[1,2,[3,{"x":null}]]}],"b":false}"#, #"{ "spaced" : [ 1, 2 ] }"#,
      "{\"long\":\"\(String(repeating: "abc ", count: random.below(80)))\"}",
      String(repeating: "[", count: 70) + String(repeating: "]", count: 70),
    ]
    let places = [
      #""first""#, #""last""#, #""middle""#, #"{"index":3}"#, #"{"index":99999999999999999999}"#,
      #"{"index":-1}"#,
      #"{"before":"x"}"#, #"{"after":"x","index":1}"#, #"{"before":"a\/b"}"#, #"{ "after" : "y" }"#, "{}",
      "[]",
      #"{"other":{"index":1},"after":"z"}"#, #"{"ind\u0065x":1}"#,
    ]
    let operations = [
      "item.upsert", "item.upsert", "item.patch", "item.move", "item.delete", "item.reconfigure",
      "item.reload",
      "section.upsert", "section.move", "section.delete", "section.reload", "section.replace", "feed.replace",
      "feed.clear", "feed.delete", "feed.reload", "item.other", "",
    ]
    var members = ["\"op\":\"\(pick(operations, &random))\""]
    func add(_ name: String, _ values: [String], oneIn rarity: Int) {
      if random.below(rarity) == 0 { members.append("\"\(name)\":\(pick(values, &random))") }
    }
    for _ in 0..<2 {
      add("item", ids, oneIn: 2)
      add("section", ids, oneIn: 2)
      add("kind", ids, oneIn: 3)
      add("data", data, oneIn: 2)
      add("at", places, oneIn: 3)
      add("items", data, oneIn: 12)
      add("sections", data, oneIn: 12)
      add("oth\\u0065r", data, oneIn: 20)
      add("other", data + places, oneIn: 6)
    }
    if random.below(2) == 0 { members.swapAt(0, random.below(members.count)) }
    let separator = random.below(20) == 0 ? " , " : ","
    return "{" + members.joined(separator: separator) + "}" + (random.below(10) == 0 ? "\n" : "")
  }

  /// Changes some bytes.
  private func damaged(_ text: [UInt8], _ random: inout SplitMix64) -> [UInt8] {
    var text = text
    let bytes = Array("\"\\{}[]:,0e.-u \n\u{1}é".utf8)
    for _ in 0...random.below(2) {
      let at = random.below(text.count)
      switch random.below(4) {
      case 0: text.remove(at: at)
      case 1: text.insert(pick(bytes, &random), at: at)
      case 2: text.removeSubrange(at...)
      default: text[at] = pick(bytes, &random)
      }
      if text.isEmpty { return [0x20] }
    }
    return text
  }

  @Test(arguments: RandomCases.seeds(1...4))
  func `an event that is read without tokens is what its tokens say`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let kernel = try #require(JSONIndexer.kernels.first)
    var limits = Limits()
    limits.maxDepth = 60
    let plain = RecordDecoder(limits: limits)
    let indexed = RecordDecoder(limits: limits, indexer: JSONIndexer(kernel: kernel))
    for number in 0..<3000 {
      let text = Array(event(&random).utf8)
      let bytes = number % 2 == 0 ? text : damaged(text, &random)
      let span = pages.place(bytes)
      let outcomes = (DecodedText(span, plain), DecodedText(span, indexed))
      #expect(
        outcomes.0 == outcomes.1,
        "seed \(seed): \(String(decoding: bytes, as: UTF8.self))"
      )
    }
  }

  @Test func `events of the usual spelling are read without tokens`() {
    for text in [
      #"{"op":"item.upsert","item":"a","section":"s","kind":"é","data":{"text":"line\n","list":[1,{}]}}"#,
      #"{"op":"item.move","item":"item-1","at":{"index":3}}"# + "\n", #"{"op":"item.delete","item":"b"}"#,
    ] {
      var fields = EventFields()
      #expect(withSpan(text) { PlainEvent.read($0, &fields) } > 0, "\(text)")
    }
  }
}
