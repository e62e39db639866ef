import Feed
import FeedStore
import Testing

@testable import FeedKafka

struct TopicRequirementsTests {
  private let requirements = TopicRequirements(FeedStoreOptions(), batchBytes: 1_000_000)
  private static var contents: TopicRequirements {
    var options = FeedStoreOptions()
    options.topics.contents = "feeds.contents"
    options.limits.maxDataBytes = 9_600_000
    return TopicRequirements(options, batchBytes: 1_000_000)
  }

  /// Topics as created by `--create`; all other settings are the brokers' defaults.
  private func created(
    _ partitions: Int32 = 6,
    _ requirements: TopicRequirements? = nil
  ) -> [String: TopicState] {
    let requirements = requirements ?? self.requirements
    let defaults = [
      "max.message.bytes": "1048588", "min.cleanable.dirty.ratio": "0.5", "delete.retention.ms": "86400000",
    ]
    let states = requirements.roles.map { topic, role in
      let settings = defaults.merging(requirements.settings(for: role)) { $1 }
      return (topic, TopicState(partitions: partitions, settings: settings))
    }
    return Dictionary(uniqueKeysWithValues: states)
  }

  /// The unmet requirements, in short.
  private func mismatches(
    _ states: [String: TopicState],
    _ requirements: TopicRequirements? = nil
  ) -> [String] {
    (requirements ?? self.requirements).check(states).filter(\.isMismatch).map {
      "\($0.verdict.rawValue) \($0.topic) \($0.kind.rawValue)"
    }
  }

  @Test func `created topics meet the requirements`() {
    #expect(requirements.check(created()).allSatisfy { $0.verdict == .met })
  }

  @Test func `a missing topic must be created, and no other requirement is listed for it`() {
    #expect(
      mismatches([:]) == [
        "must feeds.sections partitions", "must feeds.items partitions", "must feeds.changesets partitions",
        "must feeds.rejected partitions",
      ]
    )
    let missing = requirements.check([:]).first
    #expect(missing?.actual == "missing")
    #expect(missing?.remedy.contains("feedstore topics --create") == true)
  }

  struct Partitions: Sendable {
    var sections: Int32 = 6
    var items: Int32 = 6
    var changesets: Int32 = 6
    var rejected: Int32 = 6
    var expected: [String]
  }

  @Test(arguments: [
    Partitions(rejected: 1, expected: []),
    Partitions(rejected: 60, expected: []),
    Partitions(sections: 4, expected: ["must feeds.sections partitions"]),
    Partitions(items: 5, expected: ["must feeds.items partitions"]),
    Partitions(changesets: 5, expected: ["must feeds.changesets partitions"]),
    Partitions(changesets: 7, expected: ["should feeds.changesets partitions"]),
    Partitions(
      items: 12,
      expected: ["must feeds.sections partitions", "must feeds.changesets partitions"]
    ),
  ])
  func `numbers of partitions must match`(row: Partitions) {
    var states = created()
    states["feeds.sections"]?.partitions = row.sections
    states["feeds.items"]?.partitions = row.items
    states["feeds.changesets"]?.partitions = row.changesets
    states["feeds.rejected"]?.partitions = row.rejected
    #expect(mismatches(states) == row.expected)
  }

  struct Setting: Sendable {
    var topic: String
    var name: String
    var value: String
    /// nil if the requirement is met.
    var expected: TopicRequirement.Verdict?
  }

  @Test(arguments: [
    Setting(topic: "feeds.changesets", name: "cleanup.policy", value: "delete", expected: .must),
    Setting(topic: "feeds.changesets", name: "cleanup.policy", value: "compact,delete", expected: .must),
    Setting(topic: "feeds.changesets", name: "cleanup.policy", value: "compact", expected: nil),
    Setting(topic: "feeds.changesets", name: "max.message.bytes", value: "999999", expected: .must),
    Setting(topic: "feeds.changesets", name: "max.message.bytes", value: "1000000", expected: nil),
    Setting(topic: "feeds.changesets", name: "min.cleanable.dirty.ratio", value: "0.5", expected: .should),
    Setting(topic: "feeds.changesets", name: "min.cleanable.dirty.ratio", value: "0.01", expected: nil),
    Setting(topic: "feeds.changesets", name: "segment.ms", value: "604800000", expected: .should),
    Setting(topic: "feeds.changesets", name: "segment.ms", value: "60000", expected: nil),
    Setting(topic: "feeds.changesets", name: "delete.retention.ms", value: "3599999", expected: .should),
    Setting(topic: "feeds.changesets", name: "delete.retention.ms", value: "3600000", expected: nil),
    Setting(topic: "feeds.rejected", name: "cleanup.policy", value: "compact", expected: .must),
    Setting(topic: "feeds.rejected", name: "max.message.bytes", value: "1000", expected: .must),
    Setting(topic: "feeds.rejected", name: "max.message.bytes", value: "1048588", expected: .should),
    Setting(topic: "feeds.items", name: "cleanup.policy", value: "compact, delete", expected: .must),
    Setting(topic: "feeds.items", name: "retention.ms", value: "3600000", expected: .should),
    Setting(topic: "feeds.items", name: "retention.ms", value: "-1", expected: nil),
    Setting(topic: "feeds.items", name: "retention.bytes", value: "1000000", expected: .should),
  ])
  func `settings are compared with the requirements`(row: Setting) {
    var states = created()
    states[row.topic]?.settings?[row.name] = row.value
    let expected = row.expected.map { ["\($0.rawValue) \(row.topic) \(row.name)"] } ?? []
    #expect(mismatches(states) == expected)
    let wrong = requirements.check(states).first { $0.isMismatch }
    #expect(wrong == nil || wrong?.actual == row.value)
    #expect(
      wrong == nil || wrong?.remedy.contains("--entity-name \(row.topic) --add-config \(row.name)=") == true
    )
  }

  @Test func `a contents topic must be compacted, and has any number of partitions`() throws {
    let requirements = Self.contents
    var states = created(6, requirements)
    for count: Int32 in [1, 60] {
      states["feeds.contents"]?.partitions = count
      #expect(requirements.check(states).allSatisfy { $0.verdict == .met })
    }
    for policy in ["delete", "compact,delete"] {
      states["feeds.contents"]?.settings?["cleanup.policy"] = policy
      #expect(mismatches(states, requirements) == ["must feeds.contents cleanup.policy"])
    }
    let policy = try #require(requirements.check(states).first { $0.isMismatch })
    #expect(policy.reason == "a content is lost if its latest record is deleted")
    #expect(policy.remedy.contains("--entity-name feeds.contents --add-config cleanup.policy=compact"))
    states["feeds.contents"]?.settings?["cleanup.policy"] = "compact"
    // An eighth of the data, and 4096 bytes for the rest of the record.
    states["feeds.contents"]?.settings?["max.message.bytes"] = "1204095"
    #expect(mismatches(states, requirements) == ["should feeds.contents max.message.bytes"])
    states["feeds.contents"] = nil
    #expect(mismatches(states, requirements) == ["must feeds.contents partitions"])
  }

  @Test func `unknown settings are neither met nor unmet`() {
    let states = created().mapValues { TopicState(partitions: $0.partitions) }
    let settings = requirements.check(states).filter { $0.kind != .partitions }
    #expect(!settings.isEmpty)
    #expect(settings.allSatisfy { $0.verdict == .unknown && $0.actual == nil })
    #expect(mismatches(states) == [])
  }

  @Test func `larger changesets and larger input need larger messages`() {
    var options = FeedStoreOptions()
    options.output.maxMessageBytes = 5_000_000
    let large = TopicRequirements(options, batchBytes: 1_000_000)
    #expect(mismatches(created(), large) == ["must feeds.changesets max.message.bytes"])
    let settings = large.settings(for: .changesets)
    #expect(settings["max.message.bytes"].flatMap { Int($0) }.map { $0 > 5_000_000 } == true)

    var states = created()
    states["feeds.items"]?.settings?["max.message.bytes"] = "20000000"
    #expect(mismatches(states) == ["should feeds.rejected max.message.bytes"])
    let rejected = requirements.settings(for: .rejected, states)["max.message.bytes"].flatMap { Int($0) }
    #expect(rejected.map { $0 > 20_000_000 } == true)
  }

  @Test func `larger batches need larger messages, because brokers limit batches`() {
    let large = TopicRequirements(FeedStoreOptions(), batchBytes: 8_000_000)
    #expect(
      mismatches(created(), large) == [
        "must feeds.changesets max.message.bytes", "must feeds.rejected max.message.bytes",
      ]
    )
  }

  @Test func `one topic may serve as both inputs`() {
    var options = FeedStoreOptions()
    options.topics.sections = "feeds.items"
    let single = TopicRequirements(options, batchBytes: 1_000_000)
    #expect(single.roles.map(\.topic) == ["feeds.items", "feeds.changesets", "feeds.rejected"])
    #expect(mismatches(created(), single) == [])
  }
}
