import Kafka
import Oracle
import Testing

@Suite struct SecondJoinTests {
  private static let start = Duration.seconds(100)

  /// An event of a member, at a time since the start.
  private enum Event {
    case gains(Int, after: Duration)
    case givesUp
  }

  /// Whether it joins again, for each time it gains partitions or none.
  private func answers(isStatic: Bool = false, _ events: Event...) -> [Bool] {
    var join = SecondJoin(isStatic: isStatic)
    return events.compactMap { event in
      switch event {
      case .gains(let count, let time):
        return join.isDue(gaining: count, at: Self.start + time)
      case .givesUp:
        join.noteGivingUp(at: Self.start)
        return nil
      }
    }
  }

  @Test func `a member that neither gains nor loses anything joins again`() {
    #expect(answers(.gains(0, after: .zero)) == [true])
  }

  /// Other members may have lost partitions: for them it is the first of two rounds.
  @Test func `a member that gains something joins again only when it gains nothing in the next round`() {
    #expect(answers(.gains(1, after: .zero), .gains(0, after: .milliseconds(10))) == [false, true])
  }

  @Test func `a member that gives something up leaves it to the client`() {
    #expect(
      answers(.givesUp, .gains(0, after: .zero), .gains(0, after: .milliseconds(10))) == [false, false]
    )
  }

  @Test func `the round that a member has joined again for causes no other`() {
    #expect(answers(.gains(0, after: .zero), .gains(0, after: .seconds(60))) == [true, false])
  }

  @Test func `after a pause it expects two rounds once more`() {
    let pause = SecondJoin.pause
    let tooEarly = Event.gains(0, after: pause - .milliseconds(1))
    #expect(
      answers(.gains(0, after: .zero), .gains(0, after: .milliseconds(10)), tooEarly, .gains(0, after: pause))
        == [true, false, false, true]
    )
  }

  /// The process before it may have given up partitions, and ended before it joined again.
  @Test func `a static member joins again after its first assignment`() {
    #expect(
      answers(
        isStatic: true,
        .gains(2, after: .zero),
        .gains(0, after: .seconds(1)),
        .gains(1, after: .seconds(60))
      )
        == [true, false, false]
    )
  }

  @Test func `after a slow round the pause is longer`() {
    #expect(
      answers(
        .gains(0, after: .zero),
        .gains(0, after: .seconds(5)),
        .gains(0, after: .seconds(49)),
        .gains(0, after: .seconds(50))
      ) == [true, false, false, true]
    )
  }

  /// Members give up, gain, or neither; rounds take any time.
  @Test func `members do not have each other join without end`() {
    let seed = UInt64.random(in: 0 ... .max)
    print("second joins: seed \(seed)")
    var random = SplitMix64(seed: seed)
    for _ in 0..<2_000 {
      var members = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        SecondJoin(isStatic: Bool.random(using: &random))
      }
      var now = Self.start
      for _ in 0..<5 {
        let slowest = [21, 500, 4_000, 20_000].randomElement(using: &random)!
        var isFirst = true
        var rounds = 0
        var another = true
        while another, rounds <= 20 {
          rounds += 1
          another = false
          for index in members.indices {
            // Each receives its answer at a random time.
            let time = now + .milliseconds(Int.random(in: 0...20, using: &random))
            let kind = isFirst ? Int.random(in: 0...2, using: &random) : 0
            if kind == 2 {
              members[index].noteGivingUp(at: time)
              another = true
            }
            if members[index].isDue(gaining: kind == 1 ? 1 : 0, at: time) { another = true }
          }
          isFirst = false
          now += .milliseconds(Int.random(in: 20...slowest, using: &random))
        }
        #expect(rounds <= 20, "seed \(seed)")
        now += .milliseconds(Int.random(in: 0...10_000, using: &random))
      }
    }
  }
}
