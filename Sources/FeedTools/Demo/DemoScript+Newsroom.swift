extension DemoScript {
  /// A newsroom's home page: it starts with a full list, then stories are added on top, gain readers, are promoted,
  /// become live coverage, and are removed.
  mutating func addNewsroom() {
    let feed = "newsroom/home"
    let sections = ["top", "latest", "politics", "sport", "culture"]
    var stories: [String] = []
    let initial = sections.map { section -> String in
      let items = (0..<12).map { _ -> String in
        let id = "story-\(stories.count)"
        stories.append(id)
        return "{\"id\":\"\(id)\",\"kind\":\"story\",\"data\":\(story(id))}"
      }
      return "{\"id\":\"\(section)\",\"data\":{\"title\":\"\(section)\"},"
        + "\"items\":[\(items.joined(separator: ","))]}"
    }
    section(0, feed, "{\"op\":\"feed.replace\",\"sections\":[\(initial.joined(separator: ","))]}")

    for time in stride(from: 100, to: DemoHistory.duration, by: 10) {
      let known = stories[next(stories.count)]
      switch next(20) {
      case 0, 1:
        let id = "story-new-\(time)"
        stories.append(id)
        item(
          time,
          feed,
          "{\"op\":\"item.upsert\",\"item\":\"\(id)\",\"section\":\"latest\",\"kind\":\"story\","
            + "\"data\":\(story(id)),\"at\":\"first\"}"
        )
      case 2:
        item(
          time,
          feed,
          "{\"op\":\"item.move\",\"item\":\"\(known)\","
            + "\"section\":\"top\",\"at\":{\"index\":1}}"
        )
      case 3:
        item(time, feed, "{\"op\":\"item.upsert\",\"item\":\"\(known)\",\"kind\":\"live\"}")
      case 4 where stories.count > 50:
        stories.removeAll { $0 == known }
        item(time, feed, "{\"op\":\"item.delete\",\"item\":\"\(known)\"}")
      case 5:
        section(
          time,
          feed,
          "{\"op\":\"section.move\",\"section\":\"\(pick(Array(sections.dropFirst())))\","
            + "\"at\":{\"index\":1}}"
        )
      default:
        item(
          time,
          feed,
          "{\"op\":\"item.patch\",\"item\":\"\(known)\",\"data\":{\"readers\":\(next(90_000))}}"
        )
      }
    }
  }

  private mutating func story(_ id: String) -> String {
    let subject = pick(["Council", "Harbour", "Budget", "Orchestra", "Striker", "River", "Bakery"])
    let verb = pick(["opens", "delays", "wins", "questions", "celebrates", "rebuilds", "leaves", "finds"])
    let object = pick(["a bridge", "the vote", "its archive", "the final", "a new hall", "old maps"])
    return "{\"title\":\"\(subject) \(verb) \(object)\",\"slug\":\"\(id)\",\"readers\":\(next(5_000))}"
  }
}
