/// Collects the records of a synthetic history, each with its time, and writes them as replay lines.
///
/// All random choices follow from a seed, so the history is always the same.
struct DemoScript {
  private var records: [(time: Int64, line: String)] = []
  private var random: UInt64

  private let start: Int64
  /// The feed whose records are added.
  private var feed = ""

  /// - Parameter start: when the history begins, in milliseconds since 1970.
  init(seed: UInt64, start: Int64) {
    random = seed
    self.start = start
  }

  // MARK: Random choices

  /// A random number from 0 up to, but not including, the bound (SplitMix64).
  mutating func next(_ bound: Int) -> Int {
    random &+= 0x9E37_79B9_7F4A_7C15
    var mixed = random
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
  }

  mutating func pick(_ words: [String]) -> String { words[next(words.count)] }

  /// Removes and returns a random element.
  mutating func draw(_ elements: inout [String]) -> String? {
    elements.isEmpty ? nil : elements.remove(at: next(elements.count))
  }

  // MARK: Records

  /// Adds a record for the items topic.
  ///
  /// - Parameters:
  ///   - time: in milliseconds since the history's start.
  ///   - value: an event, or an array of events, as JSON.
  private mutating func item(_ time: Int, _ value: String) {
    add(time, "feeds.items", "\"value\":" + value)
  }

  /// Adds a record for the sections topic.
  private mutating func section(_ time: Int, _ value: String) {
    add(time, "feeds.sections", "\"value\":" + value)
  }

  /// Adds a record whose value is a text that need not be JSON.
  private mutating func raw(_ time: Int, _ text: String) {
    add(time, "feeds.items", "\"payload\":" + JSONLine.quoted(text))
  }

  private mutating func add(_ time: Int, _ topic: String, _ value: String) {
    let timestamp = start + Int64(time)
    let line = "{\"topic\":\"\(topic)\",\"ts\":\(timestamp),\"key\":\(JSONLine.quoted(feed)),\(value)}"
    records.append((timestamp, line))
  }

  /// The lines, sorted by time; records with the same time keep their order.
  var lines: [String] {
    records.enumerated()
      .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
      .map(\.element.line)
  }
}

extension DemoScript {
  /// A newsroom's home page: it starts with a full list, then stories are added to the latest ones, gain readers, are
  /// promoted, become live coverage, and are removed. The promoted ones are ranked by their readers.
  mutating func addNewsroom() {
    feed = "newsroom/home"
    let sections = ["top", "latest", "politics", "sport", "culture"]
    var stories: [String] = []
    let initial = sections.map { section -> String in
      let items = (0..<12).map { _ -> String in
        let id = "story-\(stories.count)"
        stories.append(id)
        return #"{"id":"\#(id)","kind":"story","data":\#(story(id))}"#
      }
      let order = section == "top" ? #""order":[{"by":"/readers","direction":"descending"}],"# : ""
      return #"{"id":"\#(section)","data":{"title":"\#(section)"},\#(order)"#
        + #""items":[\#(items.joined(separator: ","))]}"#
    }
    section(0, #"{"op":"feed.replace","sections":[\#(initial.joined(separator: ","))]}"#)

    for time in stride(from: 100, to: DemoHistory.duration, by: 10) {
      let known = stories[next(stories.count)]
      switch next(20) {
      case 0, 1:
        let id = "story-new-\(time)"
        stories.append(id)
        item(
          time,
          #"{"op":"item.upsert","item":"\#(id)","section":"latest","#
            + #""kind":"story","data":\#(story(id)),"at":"first"}"#
        )
      case 2:
        item(time, #"{"op":"item.move","item":"\#(known)","section":"top"}"#)
      case 3:
        item(time, #"{"op":"item.upsert","item":"\#(known)","kind":"live"}"#)
      case 4 where stories.count > 50:
        stories.removeAll { $0 == known }
        item(time, #"{"op":"item.delete","item":"\#(known)"}"#)
      case 5:
        section(
          time,
          #"{"op":"section.move","section":"\#(pick(Array(sections.dropFirst())))","at":{"index":1}}"#
        )
      default:
        item(time, #"{"op":"item.patch","item":"\#(known)","data":{"readers":\#(next(90_000))}}"#)
      }
    }
  }

  private mutating func story(_ id: String) -> String {
    let subject = pick(["Council", "Harbour", "Budget", "Orchestra", "Striker", "River", "Bakery"])
    let verb = pick(["opens", "delays", "wins", "questions", "celebrates", "rebuilds", "leaves", "finds"])
    let object = pick(["a bridge", "the vote", "its archive", "the final", "a new hall", "old maps"])
    return #"{"title":"\#(subject) \#(verb) \#(object)","slug":"\#(id)","readers":\#(next(5_000))}"#
  }

  /// A shop's order board: orders move from column to column and disappear; a sale causes a burst of orders; one record
  /// is invalid.
  mutating func addOrders() {
    feed = "shop/orders"
    let columns = ["new", "packing", "shipped"]
    for column in columns {
      section(0, #"{"op":"section.upsert","section":"\#(column)","data":{"open":true}}"#)
    }
    for order in 0..<90 { addOrder("order-\(order)", placed: 50 + order * 55) }
    // The sale starts.
    for order in 0..<300 { addOrder("sale-\(order)", placed: 3_000 + order / 10) }
    raw(2_500, #"{"op":"item.upsert","item":"order-\u0000"#)
  }

  private mutating func addOrder(_ id: String, placed: Int) {
    let price = 500 + next(20_000)
    item(
      placed,
      #"{"op":"item.upsert","item":"\#(id)","section":"new","kind":"order","#
        + #""data":{"customer":\#(next(9_999)),"cents":\#(price)}}"#
    )
    let packed = placed + 150 + next(900)
    let shipped = packed + 150 + next(900)
    let gone = shipped + 300 + next(900)
    if packed < DemoHistory.duration {
      item(packed, #"{"op":"item.move","item":"\#(id)","section":"packing"}"#)
    }
    if shipped < DemoHistory.duration {
      item(
        shipped,
        #"[{"op":"item.patch","item":"\#(id)","data":{"parcel":"P\#(next(99_999))"}},"#
          + #"{"op":"item.move","item":"\#(id)","section":"shipped","at":"first"}]"#
      )
    }
    if gone < DemoHistory.duration { item(gone, #"{"op":"item.delete","item":"\#(id)"}"#) }
  }

  /// A map of power outages: regions with incidents. A storm replaces almost all of them; afterwards most of them
  /// change their kind at once.
  mutating func addOutages() {
    feed = "grid/outages"
    let regions = ["north", "east", "south", "west"]
    var incidents = (0..<80).map { "outage-\($0)" }
    section(0, outages(incidents, regions, kind: "incident"))
    for time in stride(from: 150, to: 3_900, by: 25) {
      item(time, customers(incidents[next(incidents.count)]))
    }
    // The storm: a few incidents stay, the others are new.
    incidents = Array(incidents.prefix(10)) + (0..<90).map { "storm-\($0)" }
    section(4_000, outages(incidents, regions, kind: "incident"))
    for time in stride(from: 4_150, to: 5_000, by: 15) {
      item(time, customers(incidents[next(incidents.count)]))
    }
    // Crews are sent to most of them.
    let changes = incidents.dropFirst(20).map {
      #"{"op":"item.upsert","item":"\#($0)","kind":"repair"}"#
    }
    item(5_100, "[\(changes.joined(separator: ","))]")
    for time in stride(from: 5_200, to: DemoHistory.duration, by: 20) {
      item(time, customers(incidents[next(incidents.count)]))
    }
  }

  private mutating func customers(_ incident: String) -> String {
    #"{"op":"item.patch","item":"\#(incident)","data":{"customers":\#(next(4_000))}}"#
  }

  private mutating func outages(_ incidents: [String], _ regions: [String], kind: String) -> String {
    var items = [[String]](repeating: [], count: regions.count)
    for incident in incidents {
      items[next(regions.count)].append(
        #"{"id":"\#(incident)","kind":"\#(kind)","data":{"lat":\#(48 + next(5)).\#(100 + next(900)),"#
          + #""lon":\#(7 + next(6)).\#(100 + next(900)),"customers":\#(next(4_000))}}"#
      )
    }
    let sections = zip(regions, items).map {
      #"{"id":"\#($0)","data":{"region":"\#($0)"},"items":[\#($1.joined(separator: ","))]}"#
    }
    return #"{"op":"feed.replace","sections":[\#(sections.joined(separator: ","))]}"#
  }

  /// A football score board: concurrent matches, whose minutes and goals change constantly until they end. Matches with
  /// more goals of the home team come first.
  mutating func addScores() {
    feed = "football/scores"
    let teams = [
      "Ajax", "Betis", "Celtic", "Dinamo", "Everton", "Fulham", "Genoa", "Hertha", "Inter", "Lyon",
    ]
    let order = #"[{"by":"/score/0","direction":"descending"},{"by":"/home"}]"#
    let sections = ["live", "finished"].map {
      #"{"op":"section.upsert","section":"\#($0)","order":\#(order)}"#
    }
    section(0, "[\(sections.joined(separator: ","))]")
    var live = (0..<24).map { "match-\($0)" }
    var goals = [Int](repeating: 0, count: live.count)
    for (number, match) in live.enumerated() {
      item(
        20,
        #"{"op":"item.upsert","item":"\#(match)","section":"live","kind":"match","#
          + #""data":{"home":"\#(teams[number % 10])","away":"\#(teams[(number * 3 + 1) % 10])","#
          + #""score":[0,0],"minute":0}}"#
      )
    }
    for minute in 1...90 {
      let time = 200 + minute * 60
      for match in live.shuffledCopy(&self).prefix(8) {
        guard let number = Int(match.dropFirst("match-".count)) else { continue }
        if next(25) == 0 { goals[number] += 1 }
        item(
          time,
          #"{"op":"item.patch","item":"\#(match)","#
            + #""data":{"minute":\#(minute),"score":[\#(goals[number]),\#(goals[number] / 2)]}}"#
        )
      }
      if minute > 45, minute % 4 == 0, let match = draw(&live) {
        item(
          time,
          #"[{"op":"item.patch","item":"\#(match)","data":{"minute":90,"final":true}},"#
            + #"{"op":"item.move","item":"\#(match)","section":"finished"}]"#
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

extension DemoScript {
  /// A ticker that keeps its newest 15 lines, is deleted, and is recreated.
  mutating func addTicker() {
    feed = "newsroom/ticker"
    var exists = false
    for time in stride(from: 30, to: DemoHistory.duration, by: 40) {
      if (3_500..<4_200).contains(time) {
        if exists { item(time, #"{"op":"feed.delete"}"#) }
        exists = false
        continue
      }
      let bound = exists ? "" : #"{"op":"section.upsert","section":"lines","keep":15},"#
      exists = true
      item(
        time,
        #"[\#(bound){"op":"item.upsert","item":"line-\#(time)","section":"lines","at":"first","#
          + #""data":"\#(pick(["Rain", "Wind", "Goals", "Trains", "Markets"])) at \#(time) ms"}]"#
      )
    }
  }
}
