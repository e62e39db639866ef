import FeedTestSupport
import Testing

@testable import Feed

/// A text of a known shape is read by a comparison with it. What comes of that is what comes of reading the text.
@Suite struct EventShapeTests {
  private static let strings = [
    "", "a", "item-00000001", "é😀", "line\\nline", #"\"quoted\""#, #"\\"#, #"\u00e9"#, #"\ud83d"#, "\u{1}",
    "x\\",
    String(repeating: "long ", count: 30), String(repeating: "y", count: 64),
  ]
  private static let scalars = [
    "0", "-1", "12.50e-3", "true", "false", "null", "01", "-", "1.", "tru", "1e5",
  ]

  private let pages = GuardedPages(capacity: 1 << 16)

  private func pick(_ elements: [String], _ random: inout SplitMix64) -> String {
    elements[random.below(elements.count)]
  }

  /// An event's text in pieces, with gaps between them: strings where a piece ends with a quote, numbers and literals elsewhere.
  private func pieces(_ random: inout SplitMix64) -> [String] {
    let texts: [[String]] = [
      [
        #"{"op":"item.upsert","item":""#, #"","section":""#, #"","kind":""#, #"","data":{"title":""#,
        #"","score":"#, #","tags":[""#, #"",{"n":"#, #"}],"end":""#, #""}}"#,
      ],
      [#"{"op":"item.upsert","data":"#, #","item":""#, #"","section":"s"}"#],
      [#"{"op":"item.patch","item":""#, #"","data":""#, #""}"#],
      [#"{"op":"item.move","item":""#, #"","at":{"index":"#, "}}"],
      [#"{"item":""#, #"","op":"item.move","at":{"before":""#, #""}}"#],
      [#"{"op":"section.upsert","op":""#, #"","op":"section.delete","section":""#, #""}"#],
      [#"{"op":"feed.clear"}"#],
      [#"{"op":"item.upsert","item":""#, #"","data":{"a":""#, #""},"data":[["#, #"],{},[]]}"#],
      [#"{"op":"item.delete","other":""#, #"","item":""#, #""}"#],
    ]
    return texts[random.below(texts.count)]
  }

  private func text(_ pieces: [String], _ random: inout SplitMix64) -> [UInt8] {
    var text = pieces[0]
    for piece in pieces.dropFirst() {
      // Mostly of the usual form, so that most texts are of the shape.
      let isUsual = random.below(4) != 0
      if text.last == "\"" {
        text += isUsual ? String(random.below(1_000_000)) : pick(Self.strings, &random)
      } else {
        text += isUsual ? String(random.below(1_000_000)) : pick(Self.scalars, &random)
      }
      text += piece
    }
    var bytes = Array(text.utf8)
    if random.below(6) == 0 {
      let others = Array("\"\\{}[]:,0e.-u \n\u{1}é".utf8)
      let at = random.below(bytes.count)
      switch random.below(3) {
      case 0: bytes.remove(at: at)
      case 1: bytes.insert(others[random.below(others.count)], at: at)
      default: bytes[at] = others[random.below(others.count)]
      }
    }
    return bytes
  }

  private func numbers(_ fields: EventFields) -> [Int] {
    EventFields.numbers.flatMap { [fields[$0].value.first, fields[$0].value.end] }
  }

  @Test(arguments: RandomCases.seeds(1...4))
  func `a text of a known shape has the fields and the depth that reading it finds`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var shapes = EventShapes()
    var hits = 0
    var current = pieces(&random)
    for _ in 0..<20_000 {
      if random.below(20) == 0 { current = pieces(&random) }
      let bytes = text(current, &random)
      let span = pages.place(bytes)
      var (found, expected) = (EventFields(), EventFields())
      let depth = PlainEvent.read(span, &expected)
      let operation =
        depth == 0 ? nil : Operation(name: PlainEvent(span).string(expected.op.value, arena: ScratchArena()))
      if let shape = shapes.shape(of: span, &found) {
        hits += 1
        #expect(
          shape.pointee.depth == depth && shape.pointee.operation == operation
            && numbers(found) == numbers(expected),
          "seed \(seed): \(String(decoding: bytes, as: UTF8.self))"
        )
      } else {
        #expect(
          numbers(found) == numbers(EventFields()),
          "the fields of a text of no known shape were touched"
        )
        if let operation { shapes.note(span, expected, depth: depth, operation) }
      }
    }
    #expect(hits > 2_000, "seed \(seed): only \(hits) texts were of a known shape")
  }

  @Test(arguments: RandomCases.seeds(1...2))
  func `a decoder says the same of a text whatever it decoded before`(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let kernel = try #require(JSONIndexer.kernels.first)
    let used = RecordDecoder(limits: Limits())
    let indexed = RecordDecoder(limits: Limits(), indexer: JSONIndexer(kernel: kernel))
    for _ in 0..<5_000 {
      let span = pages.place(text(pieces(&random), &random))
      #expect(DecodedText(span, used) == DecodedText(span, indexed), "seed \(seed): \(span.text)")
      #expect(used.ignored.counts == indexed.ignored.counts, "seed \(seed): \(span.text)")
    }
    #expect(!used.ignored.counts.isEmpty)
  }

  @Test func `strings of any length are passed, wherever they end in the text`() {
    // Long and short pieces, and an end that is shorter and longer than what is read at once.
    let ends = [#""}"#, #"","kind":"k","data":{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa":{}}}"#]
    for (end, character) in ends.flatMap({ end in [Character("x"), "é"].map { (end, $0) } }) {
      var shapes = EventShapes()
      func text(_ first: Int, _ second: Int) -> [UInt8] {
        let id = String(repeating: character, count: first)
        return Array(
          (#"{"op":"item.upsert","item":"\#(id)","section":""# + String(repeating: "y", count: second) + end)
            .utf8
        )
      }
      withSpan(text(1, 1)) { span in
        var fields = EventFields()
        let depth = PlainEvent.read(span, &fields)
        shapes.note(span, fields, depth: depth, .itemUpsert)
      }
      for first in 0...70 {
        for second in 0...70 {
          let span = pages.place(text(first, second))
          var (found, expected) = (EventFields(), EventFields())
          #expect(shapes.shape(of: span, &found) != nil)
          #expect(PlainEvent.read(span, &expected) > 0)
          #expect(numbers(found) == numbers(expected))
        }
      }
      // With another byte anywhere it is of the shape only if that is in one of the strings.
      let usual = text(40, 3)
      for at in usual.indices {
        var other = usual
        other[at] ^= 1
        let span = pages.place(other)
        var (found, expected) = (EventFields(), EventFields())
        if shapes.shape(of: span, &found) != nil {
          #expect(PlainEvent.read(span, &expected) > 0, "\(span.text)")
          #expect(numbers(found) == numbers(expected))
        }
      }
    }
  }

  @Test func `the fourth and later shapes are learned ever more rarely`() {
    var shapes = EventShapes()
    for number in 0..<200 {
      let text = Array(#"{"op":"item.delete","item":"a","x\#(number)":1}"#.utf8)
      withSpan(text) { span in
        var fields = EventFields()
        #expect(shapes.shape(of: span, &fields) == nil)
        let depth = PlainEvent.read(span, &fields)
        #expect(depth == 1)
        shapes.note(span, fields, depth: depth, .itemDelete)
      }
    }
    // 4 at once, then one after 8, 16, 32 and 64 more.
    #expect(shapes.learnedCount == 8)
  }
}
