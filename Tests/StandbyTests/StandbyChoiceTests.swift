import Oracle
import Testing

@testable import Standby

struct StandbyChoiceTests {
  @Test func `the order goes up from the first, and on with the lowest`() {
    #expect(StandbyChoice(partitions: 5, from: 3, maxBytes: 10).order == [3, 4, 0, 1, 2])
    #expect(StandbyChoice(partitions: 1, from: 0, maxBytes: 10).order == [0])
  }

  @Test func `a few partitions are read at a time, in order`() {
    var choice = StandbyChoice(partitions: 6, from: 4, maxBytes: 100)
    let step1 = choice.begin(at: 0)
    #expect(step1 == [4, 5, 0, 1])
    let step2 = choice.begin(at: 0)
    #expect(step2 == [])
    choice.reachEnd(0)
    #expect(choice.state(of: 0) == .followed)
    let step3 = choice.begin(at: 0)
    #expect(step3 == [2])
    choice.own(4)
    choice.reachEnd(4)
    #expect(choice.state(of: 4) == .owned)
    let step4 = choice.begin(at: 0)
    #expect(step4 == [3])
    #expect(choice.read == [5, 0, 1, 2, 3])
  }

  @Test func `what exceeds the bound is given up as a whole, the last in order first`() {
    var choice = StandbyChoice(partitions: 3, from: 1, maxBytes: 100)
    let step5 = choice.begin(at: 0)
    #expect(step5 == [1, 2, 0])
    choice.note(bytes: 50, of: 1)
    choice.note(bytes: 40, of: 0)
    choice.note(bytes: 10, of: 2)
    let step6 = choice.giveUpExcess(at: 0)
    #expect(step6 == [])
    choice.note(bytes: 11, of: 2)
    #expect(choice.bytes == 101)
    let step7 = choice.giveUpExcess(at: 7)
    #expect(step7 == [0])
    #expect(choice.bytes == 61)
    #expect(choice.state(of: 0) == .tooLarge(bytes: 40, retryTime: 60_007))
    choice.note(bytes: 101, of: 1)
    let step8 = choice.giveUpExcess(at: 8)
    #expect(step8 == [2, 1])
    #expect(choice.bytes == 0)
  }

  @Test func `what did not fit is tried again when there is room for it, but not at once`() {
    var choice = StandbyChoice(partitions: 2, maxBytes: 100)
    _ = choice.begin(at: 0)
    choice.note(bytes: 60, of: 0)
    choice.note(bytes: 41, of: 1)
    let step9 = choice.giveUpExcess(at: 0)
    #expect(step9 == [1])
    let step10 = choice.begin(at: 100_000)
    #expect(step10 == [])
    choice.note(bytes: 59, of: 0)
    let step11 = choice.begin(at: 59_999)
    #expect(step11 == [])
    let step12 = choice.begin(at: 60_000)
    #expect(step12 == [1])
    #expect(choice.state(of: 1) == .reading)
  }

  @Test func `with no room nothing is read`() {
    var choice = StandbyChoice(partitions: 2, maxBytes: 0)
    let step13 = choice.begin(at: 0)
    #expect(step13 == [])
  }

  @Test func `what a worker gives back is followed from where it was, or read from its beginning`() {
    var choice = StandbyChoice(partitions: 2, maxBytes: 100)
    choice.own(0)
    choice.own(1)
    let step14 = choice.begin(at: 0)
    #expect(step14 == [])
    choice.release(0, bytes: 30)
    #expect(choice.state(of: 0) == .reading)
    #expect(choice.bytes == 30)
    choice.release(1, bytes: nil)
    let step15 = choice.begin(at: 0)
    #expect(step15 == [1])
    // A worker may have owned a partition that is not followed.
    choice.release(7, bytes: 50)
    #expect(choice.bytes == 30)
  }

  @Test func `a damaged partition is left alone until a worker has had it`() {
    var choice = StandbyChoice(partitions: 1, maxBytes: 100)
    _ = choice.begin(at: 0)
    choice.note(bytes: 10, of: 0)
    choice.damage(0)
    #expect(choice.bytes == 0)
    let step16 = choice.begin(at: .max)
    #expect(step16 == [])
    choice.own(0)
    choice.release(0, bytes: nil)
    let step17 = choice.begin(at: 0)
    #expect(step17 == [0])
    choice.restart(0)
    let step18 = choice.begin(at: 0)
    #expect(step18 == [0])
  }

  @Test(arguments: RandomCases.seeds(1...20))
  func `whatever happens, the bytes are right and the first in order stay`(
    seed: UInt64
  ) {
    var random = SplitMix64(seed: seed)
    var choice = StandbyChoice(partitions: 6, from: Int32(random.below(6)), maxBytes: 100)
    var sizes: [Int32: Int] = [:]
    for now in 0..<300 {
      let number = Int32(random.below(6))
      switch random.below(7) {
      case 0:
        choice.own(number)
        sizes[number] = nil
      case 1 where choice.state(of: number) == .owned:
        let bytes = random.chance(50) ? random.below(60) : nil
        choice.release(number, bytes: bytes)
        sizes[number] = bytes
      case 2: _ = choice.begin(at: Int64(now) * 10_000)
      case 3: choice.reachEnd(number)
      default:
        guard choice.read.contains(number) else { continue }
        sizes[number] = random.below(60)
        choice.note(bytes: sizes[number] ?? 0, of: number)
      }
      let before = choice.read
      let given = choice.giveUpExcess(at: Int64(now) * 10_000)
      for number in given { sizes[number] = nil }
      #expect(choice.bytes == sizes.values.reduce(0, +), "seed \(seed)")
      #expect(choice.bytes <= 100, "seed \(seed)")
      // No partition after the one that was given up has any size.
      if let first = given.last, let place = before.firstIndex(of: first) {
        #expect(before[place...].allSatisfy { sizes[$0, default: 0] == 0 }, "seed \(seed)")
      }
    }
  }
}

extension StandbyChoice {
  /// The partitions that are read or followed, in order.
  fileprivate var read: [Int32] { order.filter { state(of: $0) == .reading || state(of: $0) == .followed } }
}
