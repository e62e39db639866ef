/// Collects the records of a synthetic history, each with its time, and writes them as replay lines.
///
/// All random choices follow from a seed, so the history is always the same.
struct DemoScript {
  private var records: [Record] = []
  private var random: UInt64

  private struct Record {
    var time: Int64
    var line: String
  }

  private let start: Int64

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
  mutating func item(_ time: Int, _ feed: String, _ value: String) {
    add(time, "feeds.items", feed, "\"value\":" + value)
  }

  /// Adds a record for the sections topic.
  mutating func section(_ time: Int, _ feed: String, _ value: String) {
    add(time, "feeds.sections", feed, "\"value\":" + value)
  }

  /// Adds a record whose value is a text that need not be JSON.
  mutating func raw(_ time: Int, _ feed: String, _ text: String) {
    add(time, "feeds.items", feed, "\"payload\":" + text.jsonString)
  }

  private mutating func add(_ time: Int, _ topic: String, _ feed: String, _ value: String) {
    let timestamp = start + Int64(time)
    let line = "{\"topic\":\"\(topic)\",\"ts\":\(timestamp),\"key\":\(feed.jsonString),\(value)}"
    records.append(Record(time: timestamp, line: line))
  }

  /// The lines, sorted by time; records with the same time keep their order.
  var lines: [String] {
    records.enumerated()
      .sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
      .map(\.element.line)
  }
}

extension String {
  /// The text as a JSON string.
  var jsonString: String {
    unicodeScalars.reduce(into: "\"") { text, scalar in
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{0}"..<" ": text += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      default: text.unicodeScalars.append(scalar)
      }
    } + "\""
  }
}
