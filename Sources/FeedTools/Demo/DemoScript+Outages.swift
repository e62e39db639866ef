extension DemoScript {
  /// A map of power outages: regions with incidents. A storm replaces almost all of them; afterwards most of them
  /// change their kind at once.
  mutating func addOutages() {
    let feed = "grid/outages"
    let regions = ["north", "east", "south", "west"]
    var incidents = (0..<80).map { "outage-\($0)" }
    section(0, feed, outages(incidents, regions, kind: "incident"))
    for time in stride(from: 150, to: 3_900, by: 25) {
      item(time, feed, customers(incidents[next(incidents.count)]))
    }
    // The storm: a few incidents stay, the others are new.
    incidents = Array(incidents.prefix(10)) + (0..<90).map { "storm-\($0)" }
    section(4_000, feed, outages(incidents, regions, kind: "incident"))
    for time in stride(from: 4_150, to: 5_000, by: 15) {
      item(time, feed, customers(incidents[next(incidents.count)]))
    }
    // Crews are sent to most of them.
    let changes = incidents.dropFirst(20).map {
      "{\"op\":\"item.upsert\",\"item\":\"\($0)\",\"kind\":\"repair\"}"
    }
    item(5_100, feed, "[\(changes.joined(separator: ","))]")
    for time in stride(from: 5_200, to: DemoHistory.duration, by: 20) {
      item(time, feed, customers(incidents[next(incidents.count)]))
    }
  }

  private mutating func customers(_ incident: String) -> String {
    "{\"op\":\"item.patch\",\"item\":\"\(incident)\",\"data\":{\"customers\":\(next(4_000))}}"
  }

  private mutating func outages(_ incidents: [String], _ regions: [String], kind: String) -> String {
    var items = [[String]](repeating: [], count: regions.count)
    for incident in incidents {
      items[next(regions.count)].append(
        "{\"id\":\"\(incident)\",\"kind\":\"\(kind)\",\"data\":"
          + "{\"lat\":\(48 + next(5)).\(100 + next(900)),\"lon\":\(7 + next(6)).\(100 + next(900)),"
          + "\"customers\":\(next(4_000))}}"
      )
    }
    let sections = zip(regions, items).map {
      "{\"id\":\"\($0)\",\"data\":{\"region\":\"\($0)\"},\"items\":[\($1.joined(separator: ","))]}"
    }
    return "{\"op\":\"feed.replace\",\"sections\":[\(sections.joined(separator: ","))]}"
  }
}
