import FeedKafka
import Kafka
import Oracle
import SimulationSupport
import Testing

@testable import FeedWorker

/// Members that follow each other's partitions, on simulated brokers.
@Suite struct StandbyStoryTests {
  private static let identity = ProcessIdentity(group: "simulation")
  private static let manyBytes = 1 << 30

  /// Two members with four partitions, and something that happens to the first of them; the first story from a seed on that
  /// has enough to say.
  private static func story(_ seed: UInt64, _ fault: Fault?, standbyBytes: Int?) -> Story {
    var story = Story(seed: seed)
    for seed in (seed...).prefix(100) where story.arrivals.count < 100 { story = Story(seed: seed) }
    story.setting = Setting()
    story.setting.partitions = 4
    story.setting.standbyBytes = standbyBytes
    story.incidents = fault.map { [Story.Incident(milliseconds: 20_000, fault: $0)] } ?? []
    story.milliseconds = 30_000
    let last = story.arrivals.last?.milliseconds ?? 0
    for index in story.arrivals.indices {
      // From when both have their shares, until after the fault.
      story.arrivals[index].milliseconds = 8_000 + story.arrivals[index].milliseconds * 16_000 / max(1, last)
      let hash = (story.arrivals[index].record.key ?? []).reduce(0) { $0 &* 31 &+ Int32($1) }
      story.arrivals[index].partition = TopicPartition(
        topic: story.arrivals[index].partition.topic,
        partition: (hash & .max) % 4
      )
      story.arrivals[index].transaction = nil
    }
    return story
  }

  private static func run(_ story: Story) -> SimulationRun.Outcome {
    let outcome = SimulationRun(story, identity).run()
    #expect(outcome.failure == nil, "\(story)")
    return outcome
  }

  private static func seeds(_ count: UInt64 = 3) -> [UInt64] {
    let first = UInt64.random(in: 1...1_000_000_000)
    print("standby: seeds from \(first) on")
    return (0..<count).map { first + $0 * 1_000 }
  }

  @Test(
    arguments: [
      Fault.kill(member: 0, restartAfter: 60_000), .stop(member: 0, restartAfter: 60_000),
    ]
  ) func `whoever takes over what it has followed reads the tail only`(fault: Fault) throws {
    var (with, without) = (0, 0)
    // Of 300 stories each has 3 to 26 records of what the other had.
    for seed in Self.seeds(9) {
      let warm = Self.run(Self.story(seed, fault, standbyBytes: Self.manyBytes))
      let cold = Self.run(Self.story(seed, fault, standbyBytes: nil))
      let stayed = try #require(warm.restored["m1.1"])
      #expect(stayed.warm >= 1, "seed \(seed)")
      with += stayed.records
      without += cold.restored["m1.1"]?.records ?? 0
    }
    // What the other had, all of it, while nobody was interested.
    #expect(without >= 20)
    #expect(with * 5 <= without, "\(with) records instead of \(without)")
  }

  @Test func `what does not fit is read from its beginning, as without`() throws {
    var (with, without) = (0, 0)
    let fault = Fault.stop(member: 0, restartAfter: 60_000)
    for seed in Self.seeds() {
      let tight = Self.run(Self.story(seed, fault, standbyBytes: 1))
      let cold = Self.run(Self.story(seed, fault, standbyBytes: nil))
      let stayed = try #require(tight.restored["m1.1"])
      #expect(stayed.cold >= 1, "seed \(seed)")
      with += stayed.records
      without += cold.restored["m1.1"]?.records ?? 0
    }
    #expect(with >= without / 2, "\(with) records instead of \(without)")
  }

  @Test func `a member takes over what it had given up where it had left it`() throws {
    for seed in Self.seeds() {
      // The other goes, comes back for a few seconds, and goes for good.
      var story = Self.story(seed, .stop(member: 0, restartAfter: 1_000), standbyBytes: Self.manyBytes)
      story.incidents.append(
        Story.Incident(milliseconds: 29_000, fault: .stop(member: 0, restartAfter: 60_000))
      )
      story.milliseconds = 40_000
      let outcome = Self.run(story)
      let stayed = try #require(outcome.restored["m1.1"])
      #expect(stayed.warm >= 2, "seed \(seed): \(outcome.restored)")
      #expect(stayed.records <= 20, "seed \(seed): \(outcome.restored)")
    }
  }

  @Test func `whatever happens to members that follow each other, everything is published once`() {
    let first = UInt64.random(in: 1...1_000_000_000)
    var (warm, cold) = (0, 0)
    for seed in first..<first + 6 {
      var story = Story(seed: seed)
      story.setting.standbyBytes = Self.manyBytes
      story.setting.members = 3
      story.setting.recordMicroseconds = 20
      // They come and go, and hardly anybody is killed: there is time to follow.
      for index in story.incidents.indices {
        let place = index % 3
        story.incidents[index].fault =
          switch index % 5 {
          case 0: .stop(member: place, restartAfter: 500)
          case 1: .compaction
          case 2: .pause(member: place, milliseconds: 8_000)
          case 3: .expire(place)
          default: story.incidents[index].fault
          }
      }
      story.incidents = Array(story.incidents.prefix(12))
      let outcome = Self.run(story)
      warm += outcome.warm
      cold += outcome.cold
    }
    print("standby: seeds \(first) to \(first + 5), \(warm) partitions taken over, \(cold) read")
  }
}
