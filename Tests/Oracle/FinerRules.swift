/// Families of rules: each member is the same rule for another field, list, record or bound. Its name is `section
/// family: member`.
public enum FinerRules {
  /// All of them, in the order of the protocol.
  public static let all: [String] =
    limits + heads + topics + entries + lists + joined + table

  // MARK: 2.9 to 2.13: bounds

  static let limits: [String] = [
    "limits.maxIdBytes of an id", "limits.maxIdBytes of an anchor", "limits.maxIdBytes of a kind",
    "limits.maxIdBytes of a key", "limits.maxDataBytes", "limits.maxDataBytes after a patch",
    "limits.maxEvents",
    "limits.maxRecordBytes", "limits.maxItems of a list", "limits.maxItems", "limits.maxSections of a list",
    "limits.maxSections", "limits.maxFeeds", "limits.maxStateBytes", "limits.maxDepth",
  ].map { "2.9 exactly as many are allowed: \($0)" }

  // MARK: 11.7: heads

  static let numbers = ["revision", "base", "part", "parts"]

  static let heads: [String] =
    numbers.flatMap { name in
      ["is not a string", "is not negative", "is whole", "is at most 2⁵³ − 1", "is not null"]
        .filter { name != "parts" || $0 != "is not negative" }.map { "11.7 \(name): \($0)" }
    }
    + ["epoch", "mode", "time", "checksum", "feed", "reason"].flatMap { name in
      ["is not a number", "is not null", "is not a list"].map { "11.7 \(name): \($0)" }
    }

  static let topics: [String] =
    [
      "is not empty", "is not a dot", "is not two dots", "has at most 249 bytes",
      "has letters, digits and three signs",
    ].map { "11.7 a topic in through: \($0)" }
    + [
      "is at most 2⁵³ − 1", "is not negative", "is whole", "is not a string", "is not null",
    ].map { "11.7 an offset in through: \($0)" }

  // MARK: 11.5 to 11.7: entries

  /// An entry of each list, and the fields that are needed from it.
  static let examples: [(group: String, list: String, entry: String, fields: [String])] = [
    ("sections", "delete", #"{"id":"s","index":0}"#, ["id", "index"]),
    ("sections", "insert", #"{"id":"x","index":0,"data":null}"#, ["id", "index", "data"]),
    ("sections", "move", #"{"id":"s","from":0,"to":0}"#, ["id", "from", "to"]),
    ("sections", "reconfigure", #"{"id":"s","index":0,"data":1}"#, ["id", "index", "data"]),
    ("sections", "reload", #"{"id":"s","index":0,"data":1}"#, ["id", "index", "data"]),
    ("items", "delete", #"{"id":"a","section":"s","index":0}"#, ["id", "section", "index"]),
    (
      "items", "insert", #"{"id":"x","section":"s","index":0,"kind":"","data":null}"#,
      ["id", "section", "index", "kind", "data"]
    ),
    (
      "items", "move", #"{"id":"a","from":{"section":"s","index":0},"to":{"section":"s","index":0}}"#,
      ["id", "from", "to", "from.section", "from.index", "to.section", "to.index"]
    ),
    (
      "items", "reconfigure", #"{"id":"a","section":"s","index":0,"data":1}"#,
      ["id", "section", "index", "data"]
    ),
    (
      "items", "reload", #"{"id":"a","section":"s","index":0,"kind":"","data":1}"#,
      ["id", "section", "index", "kind", "data"]
    ),
    // Of a reload: its sections, and their items.
    ("reload", "sections", #"{"id":"s"}"#, ["id"]),
    ("reload", "items", #"{"id":"a","kind":"","data":null}"#, ["id", "kind", "data"]),
  ]

  /// The possible faults of a field, and whether a value has one.
  static func faults(of field: String) -> [String] {
    switch field.split(separator: ".").last {
    case "data": ["is there"]
    case "kind": ["is there", "is a string", "is not null", "has at most 255 bytes"]
    case "id": ["is there", "is a string", "is not null", "is not empty", "has at most 255 bytes"]
    case "section": ["is there", "is a string", "is not null", "is not empty"]
    case "from" where !field.contains("."), "to" where !field.contains("."):
      ["is there", "is of the right type"]
    default:
      [
        "is there", "is not a string", "is not null", "is not negative", "is whole", "is at most 2⁵³ − 1",
        "is not a list",
      ]
    }
  }

  static let entries: [String] = examples.flatMap { example in
    example.fields.flatMap { field in
      faults(of: field).map { "11.7 an entry of \(example.group).\(example.list): \(field) \($0)" }
    }
  }

  static let lists: [String] =
    examples.flatMap { example in
      [
        "is not a number", "is not null", "is not a string", "is not an object", "has no numbers",
        "has no nulls", "has no strings", "has no lists",
      ].map {
        "11.7 the list \(example.group).\(example.list): \($0)"
      }
    }
    + ["sections", "items"].flatMap { group in
      ["is not a number", "is not null", "is not a string", "is not a list"].map {
        "11.7 the lists of \(group): what has them \($0)"
      }
    }

  static let joined: [String] =
    (examples.prefix(10).map { "\($0.group).\($0.list)" } + ["the sections of a reload"]).flatMap { list in
      ["the last part's count", "the first part's count"].map {
        "11.4 \(list) of all parts are joined: \($0)"
      }
    }

  // MARK: 11.3: the table

  enum Action: String, CaseIterable {
    case forget, ignore, stale, take
    case staleTake = "be stale and take"
  }

  /// The rows and columns of the table with their meaning. Nulls have no epoch.
  static let cells: [(row: String, column: String, action: Action)] =
    ["no state", "a state"].flatMap { column in
      [
        ("a null under k0", column, Action.forget),
        ("a null under a d key", column, column == "no state" ? .forget : .ignore),
        ("a null under another k key", column, .ignore),
      ]
    } + [
      ("a deletion", "no state", .forget), ("a deletion", "its epoch", .forget),
      ("a deletion", "another epoch", .stale),
      ("an old difference", "its epoch", .ignore), ("a difference that fits", "its epoch", .take),
      ("another difference", "no state", .stale), ("another difference", "its epoch", .stale),
      ("another difference", "another epoch", .stale), ("an older reload", "its epoch", .ignore),
      ("a keyframe in step", "its epoch", .ignore), ("a reload that differs", "its epoch", .staleTake),
      ("another reload", "no state", .take), ("another reload", "its epoch", .take),
      ("another reload", "another epoch", .take),
    ]

  static func name(_ row: String, _ column: String, stale: Bool, waiting: Bool, _ action: Action) -> String {
    "11.3 \(row), \(column)\(stale ? ", stale" : "")\(waiting ? ", waiting" : ""): \(action.rawValue)"
  }

  /// The actions with another result for a record of this row.
  static func others(_ row: String, _ column: String, stale: Bool, waiting: Bool, _ right: Action) -> [Action]
  {
    if stale, ["a difference that fits", "a keyframe in step", "a reload that differs"].contains(row) {
      return []
    }
    return Action.allCases.filter { other in
      if other == right { return false }
      let hasEntries =
        row.hasSuffix("reload") || row.contains("difference") || row.contains("keyframe")
        || row.contains("differs")
      if other == .take || other == .staleTake, !hasEntries { return false }
      let pair: Set = [other, right]
      // They have the same result.
      if column == "no state", !stale, !waiting, pair == [.forget, .ignore] { return false }
      if stale, !waiting, pair == [.stale, .ignore] { return false }
      if stale, pair == [.take, .staleTake] { return false }
      return true
    }
  }

  static let table: [String] = cells.flatMap { row, column, action in
    [(false, false), (true, false), (false, true), (true, true)].flatMap { stale, waiting in
      others(row, column, stale: stale, waiting: waiting, action).map {
        name(row, column, stale: stale, waiting: waiting, $0)
      }
    }
  }
}

/// Whether the oracle follows a rule of a family.
func keeps(_ name: @autoclosure () -> String) -> Bool {
  guard let trial = Rule.trial else { return true }
  let name = name()
  if trial.broken == nil, trial.finer == nil { trial.askedFiner.insert(name) }
  return trial.finer != name
}

/// Whether a number is within a limit, which it may equal.
func isWithin(_ count: Int, _ limit: Int, _ name: String) -> Bool {
  count < limit || count == limit && keeps("2.9 exactly as many are allowed: \(name)")
}
