import FeedStore
import Testing

@testable import FeedKafka
@testable import FeedTools

struct TopicReportTests {
  private let requirements = TopicRequirements(FeedStoreOptions(), batchBytes: 1_000_000)

  private func report(_ states: [String: TopicState], unknown: String? = nil) -> TopicReport {
    TopicReport(requirements: requirements.check(states), unknown: unknown, created: [], failures: [])
  }

  @Test func `the table names each topic once, with its requirements`() {
    let settings = ["cleanup.policy": "delete", "max.message.bytes": "1048588", "segment.ms": "604800000"]
    let states = ["feeds.changesets": TopicState(partitions: 4, settings: settings)]
    let lines = report(states).table.split(separator: "\n").map {
      $0.split(separator: " ").joined(separator: " ")
    }
    #expect(lines[0] == "topic what is needed")
    #expect(lines[1] == "feeds.sections partitions missing 12 must")
    #expect(lines.contains("feeds.changesets partitions 4 12 ok"))
    #expect(lines.contains("cleanup.policy delete compact must"))
    #expect(lines.contains("segment.ms 604800000 3600000 or less should"))
    #expect(lines.contains("min.cleanable.dirty.ratio ? 0.1 or less ?"))
  }

  @Test func `a report is fit unless a requirement must be met and is not`() {
    let names = requirements.roles.map(\.topic)
    var states = Dictionary(uniqueKeysWithValues: names.map { ($0, TopicState(partitions: 4)) })
    let unknown = report(states, unknown: "the brokers do not say")
    #expect(unknown.isFit)
    #expect(unknown.notes == ["settings marked ? are not known: the brokers do not say"])

    states["feeds.changesets"]?.settings = ["segment.ms": "604800000"]
    let slow = report(states)
    #expect(slow.isFit)
    #expect(slow.notes.first?.hasPrefix("should: feeds.changesets: segment.ms 604800000, needed ") == true)

    states["feeds.changesets"]?.settings = ["cleanup.policy": "delete"]
    #expect(!report(states).isFit)
  }
}
