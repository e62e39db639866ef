import FeedKafka
import Foundation
import Kafka
import ObservationSupport
import Oracle
import SimulationSupport
import Testing

@testable import FeedWorker

/// Daemons on simulated brokers.
@Suite struct StoryTests {
  private static let identity = ProcessIdentity(group: "simulation")

  /// Whether all that happens is printed.
  private static let isTold =
    ProcessInfo.processInfo.environment["FEEDSTORE_SIMULATION_TRACE"]?.isEmpty == false

  private static func variable(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  @Test(arguments: [false, true])
  func `whatever happens, everything is published once and as the oracle says`(isIngesting: Bool) throws {
    let first = Self.variable("FEEDSTORE_SIMULATION_SEED") ?? UInt64.random(in: 1...1_000_000_000)
    let count = Self.variable("FEEDSTORE_SIMULATION_SEEDS") ?? .max
    let seconds = Self.variable("FEEDSTORE_SIMULATION_SECONDS") ?? 10
    let name = isIngesting ? "simulation of ingest" : "simulation"
    let begin = ContinuousClock.now
    var (runs, faults, requests, changesets): (UInt64, Int, Int, Int) = (0, 0, 0, 0)
    var longest: (milliseconds: Int64, seed: UInt64) = (0, 0)
    var (warm, cold) = (0, 0)
    while runs < count, count < .max || ContinuousClock.now - begin < .seconds(Int64(seconds)) {
      let story = Story(seed: first + runs, isIngesting: isIngesting)
      let outcome = SimulationRun(story, Self.identity, onLine: Self.isTold ? { print($0) } : nil).run()
      runs += 1
      faults += outcome.faults
      requests += outcome.requests
      changesets += outcome.changesets
      warm += outcome.warm
      cold += outcome.cold
      if outcome.catchUpMilliseconds > longest.milliseconds {
        longest = (outcome.catchUpMilliseconds, story.seed)
      }
      guard let failure = outcome.failure else { continue }
      print(
        "\(name): seed \(story.seed) fails after \(ContinuousClock.now - begin), and is being shortened: \(failure)"
      )
      Issue.record("\(Self.report(story, failure))")
      break
    }
    let duration = (ContinuousClock.now - begin) / .seconds(1)
    print(
      """
      \(name): seeds \(first) to \(first + runs - 1), \((Double(runs) / duration * 10).rounded() / 10) runs and \
      \(Int(Double(faults) / duration)) faults a second; \(requests) requests, \(changesets) changesets; caught up in \
      \(longest.milliseconds) ms at most, with seed \(longest.seed); with standby, \(warm) partitions taken over from it and \
      \(cold) read from their beginnings
      """
    )
  }

  /// What failed, as a short story, and how it went.
  private static func report(_ story: Story, _ failure: String) -> String {
    var shrinker = StoryShrinker { SimulationRun($0, identity).run().failure }
    let short = shrinker.shrink(story, failure)
    var lines: [String] = []
    let outcome = SimulationRun(short, identity) { lines.append($0) }.run()
    return """
      seed \(story.seed) fails: \(failure)
      in short, \(short)
      which fails: \(outcome.failure ?? "not any more")
      \(lines.suffix(120).joined(separator: "\n"))
      repeat it with FEEDSTORE_SIMULATION_SEED=\(story.seed) FEEDSTORE_SIMULATION_SEEDS=1
      """
  }

  @Test func `a member that stood still while another published does not take the input for lost`() {
    var story = Story(seed: 101_820_787)
    story.setting = Setting()
    story.setting.partitions = 1
    story.arrivals = Array(story.arrivals.prefix(1))
    story.arrivals[0].milliseconds = 382
    story.arrivals[0].partition = TopicPartition(topic: "feeds.items", partition: 0)
    story.arrivals[0].record.key = Array("a".utf8)
    story.arrivals[0].record.value = Array(#"{"op":"item.upsert","item":"i","section":"s"}"#.utf8)
    // It has asked where the input ends, and reads the changesets after it was put out of the group.
    story.incidents = [
      Story.Incident(milliseconds: 333, fault: .pause(member: 1, milliseconds: 500)),
      Story.Incident(milliseconds: 450, fault: .expire(1)),
    ]
    var lines: [String] = []
    let outcome = SimulationRun(story, Self.identity) { lines.append($0) }.run()
    #expect(outcome.failure == nil, "\(lines.joined(separator: "\n"))")
    #expect(lines.contains { $0.contains("m1.1 reader: feeds.changesets [0] @ 0") }, "it read nothing")
  }

  /// One partition and one member, which gets an item at each of these times, or a row, which another member maps.
  private func story(items times: [Int64], isIngesting: Bool, _ incidents: [Story.Incident]) -> Story {
    var story = Story(seed: 1)
    story.setting = Setting()
    story.setting.members = 1
    story.setting.partitions = 1
    story.setting.ingesters = isIngesting ? 1 : 0
    story.arrivals = times.enumerated().map { number, time in
      let event = #"{"op":"item.upsert","item":"i\#(number)","section":"s"}"#
      let row = #"{"region":"eu","status":"open","amount":1,"change":1}"#
      let (topic, key, value) =
        isIngesting
        ? ("rows.json", #"{"customer":1,"id":\#(number)}"#, row) : ("feeds.items", "a", event)
      return Story.Arrival(
        milliseconds: time,
        partition: TopicPartition(topic: topic, partition: 0),
        record: SimulatedRecord(key: Array(key.utf8), value: Array(value.utf8), timestamp: 0)
      )
    }
    story.incidents = incidents
    story.milliseconds = 4_000
    return story
  }

  /// The broker ends the first transaction when it is asked again, and gets the first request in the midst of the second.
  @Test(arguments: [false, true], [false, true])
  func `a late end of a transaction does not end the next one`(isKilled: Bool, isIngesting: Bool) {
    for time in stride(from: Int64(2_100), through: 2_600, by: 10) {
      var incidents = [
        Story.Incident(milliseconds: 400, fault: .request(.endTransaction, .overtaken(2_000))),
        Story.Incident(milliseconds: 1_500, fault: .request(.produce, .late(1_000))),
      ]
      if isKilled {
        incidents.append(Story.Incident(milliseconds: 2_650, fault: .kill(member: 0, restartAfter: 50)))
      }
      let story = story(items: [500, time], isIngesting: isIngesting, incidents)
      let outcome = SimulationRun(story, Self.identity).run()
      #expect(outcome.failure == nil, "with the second item at \(time) ms")
    }
  }

  /// Each has read the counter some time ago, and increments it if it still is what it was.
  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `a hundred writers count as far as they succeed, whatever happens`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var story = Story(seed: seed)
    var counts = [0]
    func arrival(_ time: Int, _ event: String) -> Story.Arrival {
      Story.Arrival(
        milliseconds: Int64(time),
        partition: TopicPartition(topic: "feeds.items", partition: 0),
        record: SimulatedRecord(key: Array("counter".utf8), value: Array(event.utf8), timestamp: 0)
      )
    }
    story.arrivals = [arrival(0, #"{"op":"item.upsert","item":"n","section":"s","data":{"n":0}}"#)]
    for writer in 0..<300 {
      let seen = counts[max(0, counts.count - 1 - random.below(4))]
      let condition = #"{"item":"n","data":{"/n":\#(seen)}}"#
      let event =
        #"{"op":"item.patch","item":"n","data":{"n":\#(seen + 1),"by":\#(writer % 100)},"if":\#(condition)}"#
      story.arrivals.append(arrival(writer * 50, event))
      if seen == counts[counts.count - 1] { counts.append(seen + 1) }
    }
    story.milliseconds = max(story.milliseconds, 16_000)
    let outcome = SimulationRun(story, Self.identity).run()
    #expect(outcome.failure == nil)
    let refused = outcome.observation.rejected.values.filter { $0.code == "condition-failed" }.count
    let items = outcome.observation.feeds.values.flatMap { $0.feed.itemsByID.values.map(\.data) }
    #expect(items.count == 1)
    #expect(String(decoding: items.joined(), as: UTF8.self).hasPrefix("{\"n\":\(300 - refused),"))
    #expect(refused > 0 && refused < 300)
  }

  @Test func `a seed leads to the same run each time`() {
    for seed in UInt64(1)...3 {
      let story = Story(seed: seed)
      let runs = (0..<2).map { _ in
        var lines: [String] = []
        _ = SimulationRun(story, Self.identity) { lines.append($0) }.run()
        return lines
      }
      #expect(runs[0].count > 10)
      let different = zip(runs[0], runs[1]).first { $0 != $1 }
      #expect(runs[0] == runs[1], "seed \(seed): \(different.map { "\($0.0)\n\($0.1)" } ?? "one is longer")")
    }
  }
}
