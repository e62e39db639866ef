import Feed
import Oracle

extension FuzzTarget {
  /// Lines of a replay file.
  ///
  /// - A refused line has no effect on later lines.
  /// - A line that is parsed, formatted with all fields and parsed again gives the same record.
  static let replayLine = FuzzTarget(
    "replay-line",
    tokens: [
      "\"topic\":", "\"partition\":", "\"offset\":", "\"ts\":", "\"headers\":[", "\"key\":", "\"value\":",
      "\"payload\":", "\"feeds.items\"", "\"feeds.sections\"", "\"t\"", "{\"op\":\"feed.clear\"}",
      "2147483647",
      "9007199254740991", "253402300799999", "253402300800000", "-62167219200000", "{\"value\":{}}",
    ]
  ) { input throws(FuzzFailure) in
    let (first, second) = (ReplayLineParser(), ReplayLineParser())
    for line in input.lines {
      guard let parsed = ParsedReplayLine(line, first) else { continue }
      try expect(
        ParsedReplayLine(line, second) == parsed,
        "a refused line changed what comes after it: \(line.text)"
      )
      guard let spelled = parsed.spelled else { continue }
      let again = ParsedReplayLine(spelled, ReplayLineParser())
      try expect(again == parsed, "\(spelled.text) is parsed otherwise than \(line.text)")
    }
  }
}
