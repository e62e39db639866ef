import Feed

/// A few seconds in the life of five feeds, made up: what `feedstore demo` plays.
///
/// It has what feeds go through: content updates in plenty, elements that come, go and move between
/// sections, a burst, a list that is nearly replaced, a change of kind, a feed that is deleted and made
/// again, and one record that cannot be read.
public enum DemoHistory {
  /// How long it lasts, in milliseconds.
  static let duration = 6_000

  /// The records as replay lines, in the order of their times.
  public static var lines: [String] {
    var script = DemoScript(seed: 2_026)
    script.addNewsroom()
    script.addScores()
    script.addOrders()
    script.addOutages()
    script.addTicker()
    return script.lines
  }

  /// The lines as a file's content.
  public static var text: String { lines.joined(separator: "\n") + "\n" }
}

extension DemoHistory {
  /// Writes the history to a file.
  ///
  /// - Parameter path: created or emptied; `-` is standard output.
  /// - Throws: ``ReplayError`` if it cannot be written.
  public static func write(to path: String) throws(ReplayError) {
    let file = try OutputFile(path)
    for line in lines {
      file.buffer.append(string: line)
      file.buffer.append("\n")
    }
    try file.flush()
  }
}
