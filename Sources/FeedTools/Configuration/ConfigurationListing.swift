package import FeedConfiguration
import FeedKafka
import Settings

/// `feedstore config`: the effective configuration and the source of each value, as text or JSON.
package struct ConfigurationListing: Sendable {
  package var loaded: LoadedConfiguration
  /// The state of the topics; nil if it was not requested.
  package var topics: TopicReport?

  package init(_ loaded: LoadedConfiguration, topics: TopicReport? = nil) {
    self.loaded = loaded
    self.topics = topics
  }

  /// Whether there are no problems.
  package var isRight: Bool {
    guard loaded.unknownVariables.isEmpty, let topics else { return loaded.unknownVariables.isEmpty }
    return topics.isFit && topics.failures.isEmpty && topics.missingSources.isEmpty
  }

  /// A table of the configuration, and one of the topics if requested. Every line ends with a line feed.
  package var text: String {
    var rows = [["key", "value", "unit", "from"]]
    for reading in loaded.readings {
      rows.append([
        reading.key, UpdateText.printable(reading.shown), reading.unit?.rawValue ?? "",
        reading.source.description,
      ])
    }
    return FollowLine.table(rows, widest: Self.widestCell) + (topics.map { "\n" + $0.table } ?? "")
  }

  /// The problems, one line each.
  package var notes: [String] { loaded.unknownVariables.map(\.description) + (topics?.notes ?? []) }

  /// One object; see docs/schemas/configuration-listing.schema.json.
  package var json: String {
    let variables = loaded.unknownVariables.map { JSONLine.quoted($0.name) }
    return JSONLine.object([
      ("settings", JSONLine.list(loaded.readings.map(Self.json))),
      ("unknownVariables", JSONLine.list(variables)),
      ("topics", topics.map { JSONLine.list($0.requirements.map(Self.json)) }),
      ("topicSettingsUnknown", topics.map { JSONLine.text($0.unknown) }),
      ("isRight", String(isRight)),
    ]) + "\n"
  }

  private static func json(_ reading: ConfigurationReading) -> String {
    let isHidden = reading.isMasked && reading.value != .string("")
    var fields = [
      ("key", JSONLine.quoted(reading.key)), ("isMasked", isHidden ? "true" : nil),
      ("reference", isHidden ? reading.reference.map(JSONLine.quoted) : nil),
      ("value", isHidden ? nil : reading.value.json),
      ("unit", reading.unit.map { JSONLine.quoted($0.rawValue) }),
    ]
    switch reading.source {
    case .defaultValue: fields.append(("source", JSONLine.quoted("default")))
    case .file(let path, let line):
      fields += [
        ("source", JSONLine.quoted("file")), ("file", JSONLine.quoted(path)),
        ("line", line.map(String.init) ?? "null"),
      ]
    case .environment(let variable):
      fields += [("source", JSONLine.quoted("environment")), ("variable", JSONLine.quoted(variable))]
    case .assignment: fields.append(("source", JSONLine.quoted("set")))
    case .command(let command):
      fields += [("source", JSONLine.quoted("command")), ("command", JSONLine.quoted(command))]
    }
    return JSONLine.object(fields)
  }

  private static func json(_ requirement: TopicRequirement) -> String {
    let isMismatch = requirement.isMismatch
    return JSONLine.object([
      ("topic", JSONLine.quoted(requirement.topic)), ("what", JSONLine.quoted(requirement.kind.rawValue)),
      ("actual", JSONLine.text(requirement.actual)), ("needed", JSONLine.quoted(requirement.needed)),
      ("verdict", JSONLine.quoted(requirement.verdict.rawValue)),
      ("reason", isMismatch ? JSONLine.quoted(requirement.reason) : nil),
      ("remedy", isMismatch ? JSONLine.quoted(requirement.remedy) : nil),
    ])
  }

  private static let widestCell = 60
}
