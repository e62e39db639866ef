public import FeedKafka

/// What FeedStore needs of its topics and what is there.
public struct TopicReport: Sendable, Equatable {
  /// Everything that is needed, topic by topic.
  public let requirements: [TopicRequirement]
  /// Why settings are not known; nil if they are.
  public let unknown: String?
  /// The topics that were created.
  public let created: [String]
  /// Why topics were not created that should have been.
  public let failures: [String]

  /// Whether nothing is wrong that FeedStore cannot work with; what is not known is not held against it.
  public var isFit: Bool { !requirements.contains { $0.verdict == .must } }

  /// The table, every line ended by a line feed.
  public var table: String {
    var rows = [["topic", "what", "is", "needed", ""]]
    var last = ""
    for requirement in requirements {
      rows.append([
        requirement.topic == last ? "" : requirement.topic,
        requirement.kind.rawValue,
        requirement.actual ?? "?",
        requirement.needed,
        requirement.verdict.rawValue,
      ])
      last = requirement.topic
    }
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.reduce(into: "") { text, row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      var line = cells.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      text += line + "\n"
    }
  }

  /// What was done, what is wrong and what to do about it, a line each.
  public var notes: [String] {
    created.map { "created \($0)" }
      + requirements.filter(\.isMismatch).map { "\($0.verdict.rawValue): \($0)" }
      + (unknown.map { ["settings marked ? are not known: \($0)"] } ?? [])
      + failures
  }
}
