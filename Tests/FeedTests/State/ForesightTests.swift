import Oracle
import Testing

@testable import Feed

@Suite struct ForesightTests {
  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `what a whole list leads to is known before it is applied`(seed: UInt64) {
    var options = GeneratorOptions()
    if seed.isMultiple(of: 2) { options.addOrders() }
    options.weights[.feedReplace] = 5
    options.weights[.sectionReplace] = 10
    options.badPercent = 0
    var generator = RecordGenerator(seed: seed, options: options)
    let ground = FeedGround()
    var lookedAhead = 0
    for (number, record) in generator.records(2_000).enumerated() {
      guard let value = record.value else { continue }
      var expected: FeedState.Measure?
      let rejection = ground.apply(value) {
        guard ground.decoder.events.count == 1, let event = ground.decoder.events.first,
          event.operation == .feedReplace || event.operation == .sectionReplace
        else { return }
        expected = ground.feed.state.measure(after: event, ground.decoder)
      }
      if rejection == nil, let expected {
        lookedAhead += 1
        #expect(ground.feed.state.measure.items == expected.items)
        // The bytes of removed items are not known before.
        if expected.isCut { continue }
        #expect(ground.feed.state.measure == expected, "\(String(decoding: value, as: UTF8.self))")
      }
      if number.isMultiple(of: 7) { ground.feed.confirm() }
    }
    #expect(lookedAhead > 100, "seed \(seed)")
  }

  @Test func `a list that is rejected leaves nothing behind`() {
    var limits = Limits()
    limits.maxItems = 4
    limits.maxStateBytes = 10_000
    let ground = FeedGround(limits)
    #expect(ground.apply(#"{"op":"section.replace","section":"s","items":["a","b"]}"#) == nil)
    ground.feed.confirm()
    let state = ground.feed.state
    // Too long alone: no element is decoded.
    #expect(ground.apply(#"{"op":"section.replace","section":"t","items":["p","q","r","s","t"]}"#) != nil)
    #expect(ground.decoder.items.isEmpty)
    // Too long together with the existing list, and then too large: the event has no effect.
    #expect(ground.apply(#"{"op":"section.replace","section":"t","items":["x","y","z"]}"#) != nil)
    #expect(state.items.changes.isEmpty && state.sections.changes.isEmpty)
    let list = #"{"op":"section.replace","section":"t","items":["x","y"]}"#
    #expect(ground.apply(list, usage: StateUsage(feeds: 1, bytes: 10_000)) != nil)
    #expect(state.items.changes.isEmpty && state.sections.changes.isEmpty)
    #expect(ground.apply(list) == nil)
  }
}
