import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

/// Ordered sections of many leaves, whose landmarks for searches move away.
struct LongOrderedSectionTests {
  private let ground = FeedGround()
  private static let itemCount = 2_000

  init() {
    #expect(
      ground.apply(#"{"op":"section.upsert","section":"s","order":[{"by":"/n"}]}"#) == nil
    )
  }

  private func put(_ item: Int, _ number: Int) {
    let event = #"{"op":"item.upsert","item":"i\#(item)","section":"s","data":{"n":\#(number)}}"#
    #expect(ground.apply(event) == nil)
  }

  /// Sets some numbers, and checks the order of all items now and then.
  private func run(_ steps: Int, _ step: (Int) -> Void) {
    for number in 0..<steps {
      step(number)
      if number % 250 == 0 { ground.feed.checkInvariants() }
      if number % 600 == 0 { ground.feed.confirm() }
    }
    ground.feed.checkInvariants()
  }

  @Test(arguments: RandomCases.seeds(1...3))
  func `whatever moves where, the items are in order`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    run(Self.itemCount) { put($0, random.below(1_000_000)) }
    // Far and near, equal numbers, and deletions.
    run(4_000) { _ in
      let item = random.below(Self.itemCount)
      if random.chance(5) {
        #expect(ground.apply(#"{"op":"item.delete","item":"i\#(item)"}"#) == nil)
      } else {
        put(item, random.chance(50) ? random.below(1_000_000) : random.below(40))
      }
    }
  }

  @Test(arguments: [1, -1]) func `items that come in order find their place`(direction: Int) {
    run(Self.itemCount) { put($0, direction * $0) }
    // Again in another order, so that most landmarks have moved.
    run(Self.itemCount) { put($0, -direction * $0) }
  }

  @Test func `a section that was emptied begins again with other items`() {
    for item in 0..<600 { put(item, item) }
    ground.feed.confirm()
    for item in 0..<600 { #expect(ground.apply(#"{"op":"item.delete","item":"i\#(item)"}"#) == nil) }
    // The items' memory is released.
    ground.feed.confirm()
    for item in 0..<5 { put(item, 1_000 - item) }
    ground.feed.checkInvariants()
  }
}
