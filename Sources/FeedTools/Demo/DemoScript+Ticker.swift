extension DemoScript {
  /// A ticker that keeps its newest lines, is deleted, and is recreated.
  mutating func addTicker() {
    let feed = "newsroom/ticker"
    var lines: [String] = []
    for time in stride(from: 30, to: DemoHistory.duration, by: 40) {
      if (3_500..<4_200).contains(time) {
        if !lines.isEmpty { item(time, feed, "{\"op\":\"feed.delete\"}") }
        lines = []
        continue
      }
      let id = "line-\(time)"
      lines.append(id)
      var events = [
        "{\"op\":\"item.upsert\",\"item\":\"\(id)\",\"section\":\"lines\",\"at\":\"first\","
          + "\"data\":\"\(pick(["Rain", "Wind", "Goals", "Trains", "Markets"])) at \(time) ms\"}"
      ]
      if lines.count == 1 { events.insert("{\"op\":\"section.upsert\",\"section\":\"lines\"}", at: 0) }
      if lines.count > 15 {
        events.append("{\"op\":\"item.delete\",\"item\":\"\(lines.removeFirst())\"}")
      }
      item(time, feed, "[\(events.joined(separator: ","))]")
    }
  }
}
