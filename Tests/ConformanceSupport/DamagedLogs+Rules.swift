@testable import Oracle

extension DamagedLogs {
  typealias Line = ChangesetLog.Line

  // MARK: - Many small logs in one vector: the rules of chapter 11, each member, bound, list and pair by itself

  /// A vector with a feed for each case: a reload of the layout `s a b, t c`, and then the tested record.
  struct Group {
    let name: String
    let sections: String
    let title: String
    var cases: [[Line]] = []
    /// Whether the feeds begin without the reload.
    var beginsEmpty = false

    var log: ChangesetLog {
      ChangesetLog(
        cases.enumerated().flatMap { number, lines in
          ((beginsEmpty ? [] : [DamagedLogs.reload(1, DamagedLogs.layout)]) + lines).map {
            DamagedLogs.named("f\(number)", $0)
          }
        }
      )
    }
  }

  static let layout = ["s a b", "t c"]

  /// The feed `f`'s line as another feed's.
  private static func named(_ feed: String, _ line: Line) -> Line {
    var line = edited(line, "\"feed\":\"f\"", "\"feed\":\"\(feed)\"")
    if line.key.suffix(2) == Array("/f".utf8) { line.key = line.key.dropLast() + Array(feed.utf8) }
    return line
  }

  func rules() -> [Case] {
    let groups =
      Self.heads() + Self.values() + Self.keys() + Self.entries() + Self.lists() + Self.table()
      + Self.parts() + Self.marks() + Self.reloads()
    return groups.map { ($0.name, $0.sections, $0.title, $0.log) }
  }

  private static let most = "9007199254740991"
  private static let tooMany = "9007199254740992"
  private static let noTexts: [String?] = [nil, "5", "null", "true", "[]", "{}"]
  private static let noNumbers: [String?] = [
    nil, "\"2\"", "null", "true", "-2", "2.5", "[2]", "{}", tooMany, "18446744073709551618",
  ]

  private static func object(_ count: Int, _ member: (Int) -> String) -> String {
    "{\((0..<count).map(member).joined(separator: ","))}"
  }

  /// A valid difference: it deletes `c`.
  static func lossless(_ edits: [String: String?] = [:], key: String = "d1") -> Line {
    let items = ",\"items\":{\"delete\":[{\"id\":\"c\",\"section\":\"t\",\"index\":0}]}"
    return changeset(2, "diff", ["s a b", "t"], rest: items, key: key, edits)
  }

  static func deletion(_ edits: [String: String?] = [:], key: String = "d1") -> Line {
    changeset(2, "delete", [], key: key, edits)
  }

  static func next(_ edits: [String: String?] = [:], key: String = "k0") -> Line {
    reload(2, ["s b a", "t c"], key: key, edits)
  }

  // MARK: 11.7: the head

  private static func heads() -> [Group] {
    let topics = ["", ".", "..", "a/b", "a b", "ä", "a:b", "a\\u0000", String(repeating: "a", count: 250)]
    let bad: [(name: String, values: [String?])] = [
      ("feed", noTexts + ["\"\"", "\"g\""]),
      ("epoch", noTexts), ("revision", noNumbers), ("base", noNumbers),
      ("mode", noTexts + ["\"transmogrify\"", "\"Diff\"", "\"\""]),
      ("time", noTexts), ("reason", noTexts.filter { $0 != nil }),
      (
        "through",
        [nil, "3", "null", "\"x\"", "[]", "true"]
          + noNumbers.compactMap { $0 }.map { "{\"a\":1,\"feeds.items\":\($0)}" }
          + topics.map { "{\"a\":1,\"\($0)\":1}" } + [object(201) { "\"t\($0)\":1" }]
      ),
      (
        "checksum",
        noTexts
          + ["0000000", "000000000", "0000000G", "0000000A", "", "0x000000", "0000000 ", "+0000000"].map {
            "\"\($0)\""
          }
      ),
      ("part", noNumbers.compactMap { $0 } + ["1", "0.5"]),
      ("parts", noNumbers.compactMap { $0 }.filter { !$0.hasPrefix("2") } + ["0", "1000002", "1.5"]),
    ]
    var groups = bad.map { field in
      Group(
        name: "head-\(field.name)",
        sections: "11.7",
        title: "\(field.name) with values that it may not have, of a deletion, a reload and a difference",
        cases: field.values.flatMap { value -> [[Line]] in
          [[deletion([field.name: value])], [next([field.name: value])], [lossless([field.name: value])]]
        }
      )
    }
    let pairs: [[String: String?]] = [
      ["part": "0", "parts": "\"1\""], ["part": "\"0\"", "parts": "1"], ["part": "1", "parts": "1"],
      ["part": "2", "parts": "2"], ["part": "0", "parts": "0"], ["part": "null", "parts": "null"],
      ["part": "1000001", "parts": "1000001"], ["part": "0", "parts": "1000002"],
    ]
    groups.append(
      Group(
        name: "head-part-of-parts",
        sections: "11.7",
        title: "part and parts that are not possible together",
        cases: pairs.flatMap { [[deletion($0)], [next($0)], [lossless($0)]] }
      )
    )
    let good: [[String: String?]] = [
      ["reason": nil], ["reason": "\"\""], ["reason": "\"keyframe\""], ["time": "\"\""],
      ["time": "\"yesterday\""],
      ["revision": most], ["base": most], ["base": "0"], ["base": "2"], ["through": "{}"],
      ["through": "{\"...\":0}"], ["through": "{\"\(String(repeating: "a", count: 249))\":\(most)}"],
      ["through": "{\"A-z_0.9\":1}"], ["through": object(200) { "\"t\($0)\":1" }],
      ["part": "0"], ["parts": "1"], ["part": "0", "parts": "1"], ["epoch": "\"\""], ["epoch": "\"é x\""],
      ["epoch": "\"x\"", "revision": "0", "base": "0"], ["part": "0", "parts": "1000001"], ["parts": "2"],
    ]
    groups.append(
      Group(
        name: "not-head",
        sections: "11.7",
        title: "heads with values at their bounds, and of other texts: nothing is wrong",
        cases: good.map { [next($0)] }
          + [
            ["reason": "\"x\""], ["time": "\"\""], ["through": "{}"], ["part": "0", "parts": "1"],
            ["revision": most],
          ].map {
            [lossless($0)]
          }
      )
    )
    groups.append(
      Group(
        name: "not-deletion",
        sections: "11.3",
        title: "deletions of any revision, base, checksum, parts and entries: the feed is removed",
        cases: [
          ["revision": "0"], ["revision": "1"], ["revision": most], ["base": "0"], ["base": most],
          ["checksum": "\"ffffffff\""], ["reason": "\"x\""], ["part": "0", "parts": "2"],
          ["part": "1", "parts": "2"], ["parts": "3"], ["time": "\"\""], ["through": "{}"],
        ].map { [deletion($0), next()] }
          + [",\"sections\":5", ",\"items\":{\"delete\":[5]}", ",\"sections\":[{}]"].map { rest in
            [changeset(2, "delete", [], rest: rest), next(["revision": "1"])]
          }
      )
    )
    return groups
  }

  // MARK: 11.7: values that are not JSON, and names that come twice

  private static func values() -> [Group] {
    func edit(_ line: Line, _ old: String, _ new: String) -> [Line] { [edited(line, old, new)] }
    let bases = [deletion(), next(), lossless()]
    let broken = [
      ("{", "{,"), ("\"base\":1,", "\"base\":1,,"), ("\"base\":1,", "\"base\":01,"),
      ("\"base\":1,", "\"base\":+1,"),
      ("\"base\":1,", "\"base\":1 \"x\":1,"), ("\"base\":1,", "\"base\":1,x:1,"),
      ("\"base\":1,", "\"base\":1,'x':1,"),
      ("\"base\":1,", "\"base\":1,\"x\":NaN,"), ("\"base\":1,", "\"base\":1,\"x\":.5,"),
      ("\"base\":1,", "\"base\":1,\"x\":1.,"), ("\"base\":1,", "\"base\":1,\"x\":\"\t\","),
      ("\"base\":1,", "\"base\":1,\"x\":\"\\x\","), ("\"base\":1,", "\"base\":1,\"x\":[1,],"),
      ("\"base\":1,", "\"base\":1,/**/"), ("{", "\u{FEFF}{"), ("{", "{} {"), ("{", "[{"),
    ]
    let surrogates = [
      "\"x\":\"\\ud800\"", "\"x\":\"\\uDC00\"", "\"x\":\"\\udc00\\ud800\"", "\"\\udbff\":1",
      "\"x\":[\"\\ud800x\"]",
    ]
    let fields = [
      "feed": "\"f\"", "epoch": "\"feeds.items:0/0\"", "revision": "2", "base": "1", "mode": "\"delete\"",
      "time": "\"\"", "through": "{}", "checksum": "\"00000000\"", "part": "0", "parts": "1",
      "reason": "\"\"",
    ].sorted { $0.key < $1.key }
    return [
      Group(
        name: "value-broken",
        sections: "11.7",
        title: "values that are almost JSON",
        cases: bases.flatMap { base in broken.map { edit(base, $0.0, $0.1) } }
          + bases.map { base in
            var base = base
            base.value?.append(contentsOf: "}".utf8)
            return [base]
          }
      ),
      Group(
        name: "value-surrogates",
        sections: "4.1 11.7",
        title: "an unpaired surrogate escape anywhere in a value",
        cases: bases.flatMap { base in surrogates.map { edit(base, "{", "{\($0),") } }
          + [edit(next(), "\"data\":null", "\"data\":\"\\ud800\"")]
      ),
      Group(
        name: "not-surrogates",
        sections: "11.7",
        title: "paired surrogate escapes, and escaped backslashes: nothing is wrong",
        cases: ["\"x\":\"\\ud83d\\uDE00\"", "\"x\":\"\\\\ud800\"", "\"x\":\"\\\\\\\\udc00\""].flatMap {
          text in
          bases.map { edit($0, "{", "{\(text),") }
        }
      ),
      Group(
        name: "twice-bad",
        sections: "11.7",
        title: "a name twice, of which the last is of a wrong type",
        cases: fields.map {
          edit(
            deletion([$0.key: $0.value]),
            "\"\($0.key)\":\($0.value)",
            "\"\($0.key)\":\($0.value),\"\($0.key)\":[]"
          )
        }
      ),
      Group(
        name: "not-twice-head",
        sections: "11.7",
        title: "a name twice, of which the first is of a wrong type: nothing is wrong",
        cases: fields.map {
          edit(
            deletion([$0.key: $0.value]),
            "\"\($0.key)\":\($0.value)",
            "\"\($0.key)\":[],\"\($0.key)\":\($0.value)"
          )
        }
          + [
            edit(lossless(), "\"items\":{", "\"items\":5,\"items\":{"),
            edit(lossless(), "\"delete\":[", "\"delete\":5,\"delete\":["),
            edit(lossless(), "\"id\":\"c\"", "\"id\":5,\"id\":\"c\""),
            edit(lossless(), "\"index\":0", "\"index\":9,\"index\":0"),
            edit(next(), "\"sections\":[", "\"sections\":[{\"id\":\"x\",\"data\":1}],\"sections\":["),
            edit(next(), "\"kind\":\"\"", "\"kind\":\"x\",\"kind\":\"\""),
          ]
      ),
    ]
  }

  // MARK: 5.1 and 11.7: the key and the value

  private static func keys() -> [Group] {
    let parts: [String: String?] = ["part": "1", "parts": "2"]
    let first: [String: String?] = ["part": "0", "parts": "2"]
    let cases: [Line] =
      ["k1", "k2", "d1", "d2"].map { next(key: $0) } + ["k0", "k2", "d1"].map { next(parts, key: $0) }
      + ["k1", "d1"].map { next(first, key: $0) } + ["k0", "k1"].map { lossless(key: $0) }
      + ["k0", "k1"].map { deletion(key: $0) } + ["k1", "k0"].map { lossless(parts, key: $0) }
      + [lossless(["mode": "\"reconfigure\""], key: "k0")]
    return [
      Group(
        name: "key-other",
        sections: "5.1 11.7",
        title: "values under keys of other values",
        cases: cases.map { [$0] }
      )
    ]
  }

  // MARK: 11.5 and 11.7: entries

  /// An entry of each list, its result, and its required fields.
  private static let examples = zip(
    FinerRules.examples,
    [
      ["t c"], ["x", "s a b", "t c"], layout, layout, layout, ["s b", "t c"], ["s x a b", "t c"], layout,
      layout, layout,
    ]
  ).map { (group: $0.group, list: $0.list, entry: $0.entry, layout: $1, fields: $0.fields) }

  private static func difference(
    _ layout: [String],
    _ group: String,
    _ lists: String,
    _ edits: [String: String?] = [:]
  ) -> Line {
    changeset(2, "diff", layout, rest: ",\"\(group)\":{\(lists)}", edits)
  }

  /// An entry with other text for a field; without the field for nil.
  private static func entry(_ entry: String, _ path: String, _ text: String?) -> String {
    let json = try? OracleJSON.parse(Array(entry.utf8))
    return String(
      decoding: json?.setting(path, to: text.map { Array($0.utf8) }).minified ?? [],
      as: UTF8.self
    )
  }

  /// Fields of other lists, of wrong types.
  private static func unneeded(_ group: String, _ fields: [String]) -> String {
    let settings = group == "sections" && fields.contains("data") ? [] : ["order", "keep"]
    let others = ["section", "index", "kind", "from", "to", "items"].filter { !fields.contains($0) }
    return (others + settings).map { "\"\($0)\":false," }.joined()
  }

  private static func entries() -> [Group] {
    let long = "\"\(String(repeating: "é", count: 128))\""
    func wrong(_ field: String) -> [String?] {
      switch field.split(separator: ".").last {
      case "id": [nil, "5", "null", "\"\"", "[]", long]
      case "section": [nil, "5", "null", "\"\"", "\"none\""]
      case "kind": [nil, "5", "null", "[]", long]
      case "data": [nil]
      case "from" where !field.contains("."), "to" where !field.contains("."):
        [nil, "0.5", "null", "\"0\"", "[]", "-1", "{}"]
      default: [nil, "\"0\"", "null", "false", "-1", "0.5", "[]", tooMany]
      }
    }
    var groups = examples.map { example in
      Group(
        name: "entry-\(example.group)-\(example.list)",
        sections: "11.5 11.7",
        title: "entries of \(example.group).\(example.list) that lack a field, or have it with a wrong type",
        cases: example.fields.flatMap { field in
          wrong(field).map {
            [
              difference(
                example.layout,
                example.group,
                "\"\(example.list)\":[\(entry(example.entry, field, $0))]"
              )
            ]
          }
        }
      )
    }
    let ids = ["x", String(repeating: "x", count: 255), String(repeating: "é", count: 127) + "x"]
    groups.append(
      Group(
        name: "not-entry",
        sections: "11.5 12.2",
        title:
          "an entry of each list, with what is ignored, and ids and kinds at their bounds: nothing is wrong",
        cases: examples.flatMap { example -> [[Line]] in
          let lists = [
            "\"\(example.list)\":[\(example.entry)]",
            "\"later\":5,\"\(example.list)\":[\(example.entry)],\"x\":[5]",
            "\"\(example.list)\":[{\"later\":[]," + example.entry.dropFirst() + "]",
            "\"\(example.list)\":[{" + unneeded(example.group, example.fields) + example.entry.dropFirst()
              + "]",
          ]
          return lists.map { [difference(example.layout, example.group, $0)] }
            + [
              [
                difference(
                  example.layout,
                  example.group,
                  "\"\(example.list)\":[\(example.entry)]",
                  ["mode": "\"reconfigure\""]
                ), next(["revision": "2"]),
              ]
            ]
        }
          + ids.flatMap { id -> [[Line]] in
            [
              [
                difference(
                  ["s \(id) a b", "t c"],
                  "items",
                  "\"insert\":[\(entry(examples[6].entry, "id", "\"\(id)\""))]"
                )
              ],
              [
                difference(
                  ["\(id)", "s a b", "t c"],
                  "sections",
                  "\"insert\":[\(entry(examples[1].entry, "id", "\"\(id)\""))]"
                )
              ],
              [
                difference(
                  ["s x:\(id) a b", "t c"],
                  "items",
                  "\"insert\":[\(entry(examples[6].entry, "kind", "\"\(id)\""))]"
                )
              ],
              [
                difference(
                  ["s a:\(id) b", "t c"],
                  "items",
                  "\"reload\":[\(entry(examples[9].entry, "kind", "\"\(id)\""))]"
                )
              ],
            ]
          }
          + ["5", "null", "[]", long].map { kind in
            [
              difference(
                layout,
                "items",
                "\"reconfigure\":[{\"kind\":\(kind),\(examples[8].entry.dropFirst())]"
              )
            ]
          }
      )
    )
    groups.append(
      Group(
        name: "not-order",
        sections: "11.5",
        title: "an order or bound of another form, which another entry takes away again: nothing is wrong",
        cases: [
          "\"order\":5", "\"order\":[]", "\"order\":[{}]", "\"order\":{}", "\"keep\":\"2\"", "\"keep\":0",
          "\"keep\":1.5", "\"keep\":[]",
        ].flatMap {
          text -> [[Line]] in
          let entry = #"{"id":"s","index":0,"data":1"#
          let insert = #"{"id":"x","index":0,"data":null"#
          return [
            [difference(layout, "sections", "\"reconfigure\":[\(entry),\(text)}],\"reload\":[\(entry)}]")],
            [difference(layout, "sections", "\"reload\":[\(entry),\(text)},\(entry)}]")],
            [
              difference(
                ["x", "s a b", "t c"],
                "sections",
                "\"insert\":[\(insert),\(text)}],\"reload\":[{\"id\":\"x\",\"index\":0,\"data\":2}]"
              )
            ],
          ]
        }
      )
    )
    return groups
  }

  // MARK: 11.7: lists

  private static func lists() -> [Group] {
    let noLists = ["5", "null", "\"x\"", "true", "{}"]
    let noEntries = ["5", "null", "\"a\"", "[]"]
    func reload(_ sections: String, _ layout: [String]) -> [Line] {
      [changeset(2, "reload", layout, rest: sections, key: "k0")]
    }
    return [
      Group(
        name: "lists-of-difference",
        sections: "11.5 11.7",
        title: "lists that are not lists, with entries that are not objects, and groups that are not objects",
        cases: ["sections", "items"].flatMap { group -> [[Line]] in
          ["5", "null", "\"x\"", "true", "[]", "[5]"].map {
            [changeset(2, "diff", layout, rest: ",\"\(group)\":\($0)")]
          }
            + ["delete", "insert", "move", "reconfigure", "reload"].flatMap { list in
              (noLists + noEntries.map { "[\($0)]" }).map { [difference(layout, group, "\"\(list)\":\($0)")] }
            }
        }
      ),
      Group(
        name: "lists-of-reload",
        sections: "11.6 11.7",
        title: "sections and items of a reload that are not lists, or not objects",
        cases: (noLists + noEntries.map { "[\($0)]" }).flatMap { text -> [[Line]] in
          [
            reload(",\"sections\":\(text)", []),
            reload(",\"sections\":[{\"id\":\"s\",\"data\":1,\"items\":\(text)}]", ["s"]),
          ]
        }
      ),
      Group(
        name: "not-lists",
        sections: "4.1 11.6",
        title: "empty lists, absent ones, and those of other names: nothing is wrong",
        cases: [
          [changeset(2, "diff", layout)], [changeset(2, "reconfigure", layout)],
          [changeset(2, "diff", layout, rest: ",\"sections\":{},\"items\":{}")],
          [
            changeset(
              2,
              "diff",
              layout,
              rest: ",\"sections\":{\"delete\":[]},\"items\":{\"insert\":[],\"swap\":5}"
            )
          ],
          reload("", []), reload(",\"sections\":[]", []), reload(",\"items\":5", []),
          reload(",\"sections\":[{\"id\":\"s\",\"data\":1}]", ["s"]),
          reload(",\"sections\":[{\"id\":\"s\",\"data\":1,\"items\":[]}]", ["s"]),
        ]
      ),
    ]
  }
}
