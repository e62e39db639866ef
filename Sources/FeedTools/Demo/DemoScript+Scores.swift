extension DemoScript {
  /// A football score board: concurrent matches, whose minutes and goals change constantly until they end.
  mutating func addScores() {
    let feed = "football/scores"
    let teams = [
      "Ajax", "Betis", "Celtic", "Dinamo", "Everton", "Fulham", "Genoa", "Hertha", "Inter", "Lyon",
    ]
    section(
      0,
      feed,
      "[{\"op\":\"section.upsert\",\"section\":\"live\"},"
        + "{\"op\":\"section.upsert\",\"section\":\"finished\"}]"
    )
    var live = (0..<24).map { "match-\($0)" }
    var goals = [Int](repeating: 0, count: live.count)
    for (number, match) in live.enumerated() {
      item(
        20,
        feed,
        "{\"op\":\"item.upsert\",\"item\":\"\(match)\",\"section\":\"live\",\"kind\":\"match\",\"data\":"
          + "{\"home\":\"\(teams[number % 10])\",\"away\":\"\(teams[(number * 3 + 1) % 10])\","
          + "\"score\":[0,0],\"minute\":0}}"
      )
    }
    for minute in 1...90 {
      let time = 200 + minute * 60
      for match in live.shuffledCopy(&self).prefix(8) {
        guard let number = Int(match.dropFirst("match-".count)) else { continue }
        if next(25) == 0 { goals[number] += 1 }
        item(
          time,
          feed,
          "{\"op\":\"item.patch\",\"item\":\"\(match)\",\"data\":"
            + "{\"minute\":\(minute),\"score\":[\(goals[number]),\(goals[number] / 2)]}}"
        )
      }
      if minute > 45, minute % 4 == 0, let match = draw(&live) {
        item(
          time,
          feed,
          "[{\"op\":\"item.patch\",\"item\":\"\(match)\",\"data\":{\"minute\":90,\"final\":true}},"
            + "{\"op\":\"item.move\",\"item\":\"\(match)\",\"section\":\"finished\",\"at\":\"first\"}]"
        )
      }
    }
  }
}

extension [String] {
  /// The elements in a random order (Fisher–Yates).
  fileprivate func shuffledCopy(_ script: inout DemoScript) -> [String] {
    var copy = self
    for last in copy.indices.reversed() where last > 0 { copy.swapAt(last, script.next(last + 1)) }
    return copy
  }
}
