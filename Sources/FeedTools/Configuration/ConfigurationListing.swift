import Feed
package import FeedConfiguration
import FeedKafka
import Service

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
    var fields = [
      ("settings", Self.list(loaded.readings.map(Self.json))),
      ("unknownVariables", Self.list(loaded.unknownVariables.map { JSONLine.quoted($0.name) })),
    ]
    if let topics {
      fields.append(("topics", Self.list(topics.requirements.map(Self.json))))
      fields.append(("topicSettingsUnknown", topics.unknown.map(JSONLine.quoted) ?? "null"))
    }
    fields.append(("isRight", String(isRight)))
    return JSONLine.object(fields) + "\n"
  }

  private static func json(_ reading: ConfigurationReading) -> String {
    var fields = [("key", JSONLine.quoted(reading.key))]
    if reading.isMasked, reading.value != .string("") {
      fields.append(("isMasked", "true"))
      if let reference = reading.reference { fields.append(("reference", JSONLine.quoted(reference))) }
    } else {
      fields.append(("value", reading.value.json))
    }
    if let unit = reading.unit { fields.append(("unit", JSONLine.quoted(unit.rawValue))) }
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
    var fields = [
      ("topic", JSONLine.quoted(requirement.topic)), ("what", JSONLine.quoted(requirement.kind.rawValue)),
      ("actual", requirement.actual.map(JSONLine.quoted) ?? "null"),
      ("needed", JSONLine.quoted(requirement.needed)),
      ("verdict", JSONLine.quoted(requirement.verdict.rawValue)),
    ]
    if requirement.isMismatch {
      fields += [
        ("reason", JSONLine.quoted(requirement.reason)), ("remedy", JSONLine.quoted(requirement.remedy)),
      ]
    }
    return JSONLine.object(fields)
  }

  private static func list(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

  private static let widestCell = 60
}
