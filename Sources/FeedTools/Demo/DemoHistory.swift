import Feed

/// A synthetic history of five feeds, a few seconds long, which `feedstore demo` plays.
///
/// It contains typical changes: many content updates, elements that appear, disappear and move between sections, a
/// burst, a list that is almost replaced, a change of kind, a feed that is deleted and recreated, and one invalid
/// record.
public enum DemoHistory {
  /// The length of the history, in milliseconds.
  static let duration = 6_000

  /// The start of the history when it is written to a file: 2026-11-20T10:00:00Z.
  static let recordedStart: Int64 = 1_795_168_800_000

  /// A feed that changes throughout the history.
  package static let liveliestFeed = "newsroom/home"

  /// The records as replay lines, in the order of their times.
  public static var lines: [String] { lines(from: recordedStart) }

  /// The same with another start, in milliseconds since 1970.
  static func lines(from start: Int64) -> [String] {
    var script = DemoScript(seed: 2_026, start: start)
    script.addNewsroom()
    script.addScores()
    script.addOrders()
    script.addOutages()
    script.addTicker()
    return script.lines
  }

  /// The lines as a file's content.
  package static func text(from start: Int64 = recordedStart) -> String {
    lines(from: start).joined(separator: "\n") + "\n"
  }
}

extension DemoHistory {
  /// Writes the history to a file.
  ///
  /// - Parameter path: created or replaced; `-` is standard output.
  /// - Throws: ``ReplayError`` if it cannot be written.
  public static func write(to path: String) throws(ReplayError) {
    let file = try OutputFile(path)
    for line in lines {
      file.buffer.append(string: line)
      file.buffer.append("\n")
    }
    try file.flush()
    try file.commit()
  }
}
