import FeedTestSupport
import Testing

@testable import Feed

@Suite struct ForesightTests {
  /// Applies records to one feed, and looks ahead at each event that gives whole lists.
  private final class Ground {
    let feed: PublishedFeed
    let decoder: RecordDecoder
    private var offset: Int64 = 0
    private(set) var lookedAhead = 0

    init(_ limits: Limits = Limits()) {
      feed = withSpan("f") { PublishedFeed(id: $0) }
      decoder = RecordDecoder(limits: limits)
    }

    /// - Returns: false if the record was rejected.
    func apply(_ value: [UInt8], usage: StateUsage = StateUsage()) -> Bool {
      withSpan("f") { key in
        withSpan(value) { value in
          do {
            offset += 1
            let position = RecordPosition(topic: [], offset: offset, timestamp: 0)
            try decoder.decode(
              InputRecord(partition: 0, position: position, key: key, value: .bytes(value)),
              for: feed
            )
            let event = decoder.events.first
            let expected =
              event?.operation == .feedReplace || event?.operation == .sectionReplace
              ? event.map { feed.state.measure(after: $0, decoder) } : nil
            try feed.apply(decoder, at: position, usage: usage) { _ in }
            if let expected, decoder.events.count == 1 {
              lookedAhead += 1
              #expect(feed.state.measure == expected, "\(value.text)")
            }
            return true
          } catch {
            return false
          }
        }
      }
    }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `what a whole list leads to is known before it is applied`(seed: UInt64) {
    var options = GeneratorOptions()
    options.weights[.feedReplace] = 5
    options.weights[.sectionReplace] = 10
    options.badPercent = 0
    var generator = RecordGenerator(seed: seed, options: options)
    let ground = Ground()
    for (number, record) in generator.records(2_000).enumerated() {
      if let value = record.value { _ = ground.apply(value) }
      if number.isMultiple(of: 7) { ground.feed.confirm() }
    }
    #expect(ground.lookedAhead > 100, "seed \(seed)")
  }

  @Test func `a list that is rejected leaves nothing behind`() {
    var limits = Limits()
    limits.maxItems = 4
    limits.maxStateBytes = 10_000
    let ground = Ground(limits)
    #expect(ground.apply(Array(#"{"op":"section.replace","section":"s","items":["a","b"]}"#.utf8)))
    ground.feed.confirm()
    let state = ground.feed.state
    // Too long by itself: none of it is decoded.
    #expect(
      !ground.apply(Array(#"{"op":"section.replace","section":"t","items":["p","q","r","s","t"]}"#.utf8))
    )
    #expect(ground.decoder.items.isEmpty)
    // Too long together with what there is, and then too large: nothing is made of it.
    #expect(!ground.apply(Array(#"{"op":"section.replace","section":"t","items":["x","y","z"]}"#.utf8)))
    #expect(state.items.changes.isEmpty && state.sections.changes.isEmpty)
    let list = Array(#"{"op":"section.replace","section":"t","items":["x","y"]}"#.utf8)
    #expect(!ground.apply(list, usage: StateUsage(feeds: 1, bytes: 10_000)))
    #expect(state.items.changes.isEmpty && state.sections.changes.isEmpty)
    #expect(ground.apply(list))
  }
}
