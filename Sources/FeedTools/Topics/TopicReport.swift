public import FeedKafka

/// FeedStore's requirements on its topics, and whether they are met.
public struct TopicReport: Sendable, Equatable {
  /// All requirements, by topic.
  public let requirements: [TopicRequirement]
  /// Why settings could not be read; nil if they could.
  public let unknown: String?
  /// The topics that were created.
  public let created: [String]
  /// Why topics could not be created.
  public let failures: [String]

  /// Whether FeedStore can work with the topics. Unknown settings are accepted.
  public var isFit: Bool { !requirements.contains { $0.verdict == .must } }

  /// The table; every line ends with a line feed.
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

  /// Actions taken, problems and remedies, one line each.
  public var notes: [String] {
    created.map { "created \($0)" }
      + requirements.filter(\.isMismatch).map { "\($0.verdict.rawValue): \($0)" }
      + (unknown.map { ["settings marked ? are not known: \($0)"] } ?? [])
      + failures
  }
}
