@testable import Oracle

extension DamagedLogs {

  // MARK: 11.3: each record in each state of a feed

  private static func null(_ key: String) -> Line {
    Line(partition: 0, offset: 0, key: Array("\(key)/f".utf8), value: nil)
  }

  /// A reload of three sections in three parts.
  private static func reloadParts(_ revision: Int = 3, _ edits: [String: String?] = [:]) -> [Line] {
    let whole = ["s a b", "t c", "u d"]
    return whole.indices.map { part in
      let place: [String: String?] = ["part": "\(part)", "parts": "3"].merging(edits) { $1 }
      return reload(revision, whole, listed: part..<part + 1, key: "k\(part)", place)
    }
  }

  /// A difference in three parts: two deletions, and the data of a section.
  private static func differenceParts(_ revision: Int = 2, _ edits: [String: String?] = [:]) -> [Line] {
    let lists = [
      ",\"items\":{\"delete\":[{\"id\":\"a\",\"section\":\"s\",\"index\":0}]}",
      ",\"items\":{\"delete\":[{\"id\":\"b\",\"section\":\"s\",\"index\":1}]}",
      ",\"sections\":{\"reconfigure\":[{\"id\":\"t\",\"index\":1,\"data\":1}]}",
    ]
    return lists.indices.map { part in
      let place: [String: String?] = ["part": "\(part)", "parts": "3"].merging(edits) { $1 }
      return changeset(revision, "diff", ["s", "t c"], rest: lists[part], key: "d\(part + 1)", place)
    }
  }

  /// One record of each kind that the table distinguishes.
  private static var records: [Line] {
    let other: [String: String?] = ["epoch": "\"x\""]
    let broken = ",\"items\":{\"delete\":[5]},\"sections\":[5]"
    return [
      null("k0"), null("k1"), null("d1"), null("d7"),
      deletion(), deletion(["revision": "1"]), deletion(other),
      deletion(["epoch": "\"x\"", "revision": "0"]),
      lossless(["revision": "1", "base": "0"]), lossless(["revision": "0", "base": "1"]),
      lossless(["revision": "1", "base": "1"]), lossless(),
      lossless(["revision": "7"]), lossless(["base": "0"]), lossless(["revision": "5", "base": "4"]),
      lossless(["revision": "2", "base": "2"]),
      lossless(other), lossless(["epoch": "\"x\"", "revision": "1"]),
      lossless(["mode": "\"reconfigure\""]),
      lossless(["mode": "\"reconfigure\"", "revision": "1", "base": "0"]),
      lossless(["mode": "\"reconfigure\"", "base": "0"]),
      lossless(["mode": "\"reconfigure\"", "epoch": "\"x\""]),
      changeset(1, "diff", ["s"], rest: broken),
      edited(reload(0, layout, ["base": "0"]), "\"data\":null", "\"data\":0"),
      edited(reload(1, layout), "\"data\":null", "\"data\":0"),
      edited(reload(1, layout, ["base": "1", "reason": "\"keyframe\""]), "\"data\":null", "\"data\":0"),
      changeset(1, "reload", layout, rest: ",\"sections\":5", key: "k0"),
      changeset(0, "reload", layout, rest: ",\"sections\":5", key: "k0", ["base": "0"]),
      reload(1, ["s b a", "t c"]), next(), reload(1, layout, other),
      reload(0, layout, ["epoch": "\"x\"", "base": "0"]),
      reload(3, layout, ["base": "0"]),
      changeset(2, "reload", layout, rest: ",\"sections\":5", key: "k0"),
      changeset(2, "diff", layout, rest: ",\"sections\":5"),
      changeset(2, "diff", ["z"]), reload(2, layout, ["checksum": "\"00000000\""]),
      lossless(["through": "5"]), Line(partition: 0, offset: 0, key: Array("k0/f".utf8), value: []),
      reloadParts()[0], reloadParts()[1], reloadParts()[2], reloadParts(4)[0], reloadParts(4)[1],
      reloadParts(0)[1],
      reloadParts(1)[0], reloadParts(1)[1], differenceParts()[0], differenceParts()[1], differenceParts(1)[1],
      differenceParts(2, ["base": "0"])[1], reloadParts(3, ["epoch": "\"x\""])[1],
    ]
  }

  static func table() -> [Group] {
    let gap = lossless(["revision": "5", "base": "4"])
    let (begun, changed) = (reloadParts(), differenceParts())
    let states: [(name: String, title: String, isEmpty: Bool, before: [Line], after: [Line])] = [
      ("none", "no state", true, [], [lossless(), reload(1, layout)]),
      ("none-stale", "no state, and stale", true, [lossless()], [lossless(), reload(1, layout)]),
      ("none-waiting", "no state, and the first part of a reload", true, [begun[0]], [begun[1], begun[2]]),
      (
        "none-stale-waiting", "no state, stale, and the first part of a reload", true,
        [lossless(), begun[0]],
        [begun[1], begun[2]]
      ),
      ("state", "a state", false, [], [lossless()]),
      ("stale", "a state that is stale", false, [gap], [lossless(), reload(1, layout)]),
      ("waiting", "a state, and the first part of a reload", false, [begun[0]], [begun[1], begun[2]]),
      (
        "changing", "a state, and the first part of a difference", false, [changed[0]],
        [changed[1], changed[2]]
      ),
      (
        "stale-waiting", "a stale state, and the first part of a reload", false, [gap, begun[0]],
        [begun[1], begun[2]]
      ),
      (
        "waiting-last", "a state, and all but the last part of a reload", false, [begun[0], begun[1]],
        [begun[2]]
      ),
      (
        "other-waiting", "a state, and the first part of a reload of another epoch", false,
        [reloadParts(3, ["epoch": "\"x\""])[0]], Array(reloadParts(3, ["epoch": "\"x\""]).dropFirst())
      ),
    ]
    return states.map { state in
      Group(
        name: "table-\(state.name)",
        sections: "11.3 11.4",
        title: "each kind of record where there is \(state.title), and what comes after it",
        cases: records.map { state.before + [$0] + state.after },
        beginsEmpty: state.isEmpty
      )
    }
  }

  // MARK: 11.4: parts

  static func parts() -> [Group] {
    let (reloads, differences) = (reloadParts(), differenceParts())
    let orders = [
      [0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [0, 0, 1, 2], [0, 1, 1, 2],
      [0, 1, 2, 2],
      [0, 1, 0, 1, 2], [0, 2], [1, 2], [0, 1], [0, 1, 2, 0, 1, 2],
    ]
    // The parts' common fields are compared with the first part's, and no others are.
    let heads: [[String: String?]] = [
      ["epoch": "\"x\""], ["revision": "4"], ["mode": "\"reconfigure\""], ["reason": "\"bytes\""],
      ["reason": nil],
      ["reason": "\"\""], ["parts": "4"], ["checksum": "\"00000000\""], ["base": "0"], ["base": "2"],
      ["time": "\"\""],
      ["through": "{}"], ["part": "0"], ["part": nil],
    ]
    func split(_ lines: [Line], _ number: Int, _ edits: [String: String?]) -> [Line] {
      let isReload = lines[0].key.first == UInt8(ascii: "k")
      let place: [String: String?] = ["part": "\(number)"].merging(edits) { $1 }
      let other = isReload ? reloadParts(3, place) : differenceParts(2, place)
      var changed = lines
      changed[number] = other[number]
      return changed
    }
    return [
      Group(
        name: "parts-orders",
        sections: "11.4",
        title: "three parts of a reload and of a difference, in each order and more than once",
        cases: orders.flatMap { order in [order.map { reloads[$0] }, order.map { differences[$0] }] }
      ),
      Group(
        name: "parts-heads",
        sections: "11.4",
        title: "three parts, of which the second or the last has another head",
        cases: heads.flatMap { head in
          [1, 2].flatMap { number in [split(reloads, number, head), split(differences, number, head)] }
        }
      ),
      Group(
        name: "parts-faults",
        sections: "11.4",
        title: "a fault in an early part shows when the last has come",
        cases: [
          [edited(reloads[0], "\"kind\":\"\"", "\"kind\":5"), reloads[1], reloads[2]],
          [edited(reloads[1], "\"id\":\"c\"", "\"id\":\"a\""), reloads[0], reloads[1], reloads[2]],
          [reloads[0], edited(reloads[1], "\"id\":\"c\"", "\"id\":\"a\""), reloads[2]],
          [edited(reloads[0], "\"sections\":[", "\"sections\":5,\"x\":["), reloads[1], reloads[2]],
          [edited(differences[0], "\"index\":0", "\"index\":1"), differences[1], differences[2]],
          [edited(differences[0], "\"id\":\"a\"", "\"id\":5"), differences[1], differences[2]],
          [edited(differences[0], "\"items\":{", "\"items\":5,\"x\":{"), differences[1], differences[2]],
          [differences[0], edited(differences[1], "\"id\":\"b\"", "\"id\":\"a\""), differences[2]],
        ]
      ),
      Group(
        name: "not-parts-lists",
        sections: "11.4",
        title: "each list continues in the second part: nothing is wrong",
        cases: continued.map { group, list, entries, layout in
          [reload(2, Self.layout + ["u d"])]
            + entries.enumerated().map { part, entry in
              changeset(
                3,
                "diff",
                layout,
                rest: ",\"\(group)\":{\"\(list)\":[\(entry)]}",
                ["part": "\(part)", "parts": "2"]
              )
            }
        }
      ),
      Group(
        name: "parts-continued",
        sections: "11.4",
        title: "sections of reloads that continue the one before, and that do not",
        cases: [
          ("s a", "s b", nil, ["s a b"]), ("s a", "t b", nil, ["s a", "t b"]), ("s a", "t b", nil, ["s a b"]),
          ("s a", "s b", "1", ["s a b"]), ("s a", "s b", "1", ["s a", "s b"]), ("s a", "s", nil, ["s a"]),
          ("s", "s a", nil, ["s a"]), ("s a", "s a", nil, ["s a"]), ("s a", "s a", nil, ["s a a"]),
          ("s a, t", "s b", nil, ["s a b", "t"]), ("s a, t", "s b", nil, ["s a", "t", "s b"]),
          ("s a, t", "t b", nil, ["s a", "t b"]), ("s a, t", "t b, u", nil, ["s a", "t b", "u"]),
        ].flatMap { one, other, data, result -> [[Line]] in
          let lists = [one, other].map { text in
            text.split(separator: ",").map { String($0.trimmingPrefix(" ")) }
          }
          let data = data.map { "\"data\":\($0)," } ?? ""
          let texts = [sections(lists[0]), edited(sections(lists[1]), "\"data\":null,", data)]
          return [
            texts.enumerated().map { part, text in
              changeset(
                2,
                "reload",
                result,
                rest: ",\"sections\":[\(text)]",
                key: "k\(part)",
                ["part": "\(part)", "parts": "2"]
              )
            },
            [
              changeset(
                2,
                "reload",
                result,
                rest: ",\"sections\":[\(texts.joined(separator: ","))]",
                key: "k0"
              )
            ],
          ]
        }
      ),
    ]
  }

  /// Two entries of each list, and the result of both.
  private static let continued: [(String, String, [String], [String])] = [
    ("sections", "delete", [#"{"id":"s","index":0}"#, #"{"id":"t","index":1}"#], ["u d"]),
    (
      "sections", "insert", [#"{"id":"x","index":0,"data":1}"#, #"{"id":"y","index":1,"data":2}"#],
      ["x", "y", "s a b", "t c", "u d"]
    ),
    (
      "sections", "move", [#"{"id":"s","from":0,"to":2}"#, #"{"id":"t","from":1,"to":1}"#],
      ["u d", "t c", "s a b"]
    ),
    (
      "sections", "reconfigure", [#"{"id":"s","index":0,"data":1}"#, #"{"id":"t","index":1,"data":2}"#],
      layout + ["u d"]
    ),
    (
      "sections", "reload", [#"{"id":"s","index":0,"data":1}"#, #"{"id":"t","index":1,"data":2}"#],
      layout + ["u d"]
    ),
    (
      "items", "delete", [#"{"id":"a","section":"s","index":0}"#, #"{"id":"c","section":"t","index":0}"#],
      ["s b", "t", "u d"]
    ),
    (
      "items", "insert",
      [
        #"{"id":"x","section":"s","index":0,"kind":"","data":1}"#,
        #"{"id":"y","section":"s","index":1,"kind":"","data":2}"#,
      ], ["s x y a b", "t c", "u d"]
    ),
    (
      "items", "move",
      [
        #"{"id":"a","from":{"section":"s","index":0},"to":{"section":"t","index":0}}"#,
        #"{"id":"c","from":{"section":"t","index":0},"to":{"section":"s","index":0}}"#,
      ], ["s c b", "t a", "u d"]
    ),
    (
      "items", "reconfigure",
      [#"{"id":"a","section":"s","index":0,"data":1}"#, #"{"id":"c","section":"t","index":0,"data":2}"#],
      layout + ["u d"]
    ),
    (
      "items", "reload",
      [
        #"{"id":"a","section":"s","index":0,"kind":"k","data":1}"#,
        #"{"id":"c","section":"t","index":0,"kind":"k","data":2}"#,
      ], ["s a:k b", "t c:k", "u d"]
    ),
  ]

  // MARK: 11.5: marks, positions and ids

  static func marks() -> [Group] {
    func difference(_ layout: [String], _ rest: String) -> [Line] {
      [changeset(2, "diff", layout, rest: rest)]
    }
    func items(_ layout: [String], _ lists: String) -> [Line] { difference(layout, ",\"items\":{\(lists)}") }
    func sections(_ layout: [String], _ lists: String) -> [Line] {
      difference(layout, ",\"sections\":{\(lists)}")
    }
    func place(_ id: String, _ section: String, _ index: Int, _ more: String = "") -> String {
      "{\"id\":\"\(id)\",\"section\":\"\(section)\",\"index\":\(index)\(more)}"
    }
    func move(_ id: String, _ from: (String, Int), _ to: (String, Int)) -> String {
      "{\"id\":\"\(id)\",\"from\":{\"section\":\"\(from.0)\",\"index\":\(from.1)},\"to\":{\"section\":\"\(to.0)\",\"index\":\(to.1)}}"
    }
    func section(_ id: String, _ index: Int, _ more: String = "") -> String {
      "{\"id\":\"\(id)\",\"index\":\(index)\(more)}"
    }
    func shift(_ id: String, _ from: Int, _ to: Int) -> String {
      "{\"id\":\"\(id)\",\"from\":\(from),\"to\":\(to)}"
    }
    let new = ",\"kind\":\"\",\"data\":1"
    let data = ",\"data\":1"
    let gone = place("a", "s", 0)
    let (up, far) = (move("a", ("s", 0), ("s", 1)), move("a", ("s", 0), ("t", 0)))
    let removed = [["s b", "t c"], ["s b a", "t c"], ["s b", "t a c"], layout]
    let pairs = [
      "\"delete\":[\(gone),\(gone)]", "\"delete\":[\(gone)],\"move\":[\(up)]",
      "\"delete\":[\(gone)],\"move\":[\(far)]",
      "\"move\":[\(up),\(up)]", "\"move\":[\(far),\(far)]", "\"move\":[\(up),\(far)]",
      "\"move\":[\(far),\(up)]",
    ]
    let (dead, shifted) = (section("s", 0), shift("s", 0, 1))
    let sectionPairs = [
      "\"delete\":[\(dead),\(dead)]", "\"delete\":[\(dead)],\"move\":[\(shifted)]",
      "\"move\":[\(shifted),\(shifted)]",
      "\"move\":[\(shifted),\(shift("s", 0, 0))]",
    ]
    return [
      Group(
        name: "marks-twice",
        sections: "11.5",
        title:
          "every pair of marks of one item or section, with the checksum of each result that it could have",
        cases: pairs.flatMap { lists in removed.map { items($0, lists) } }
          + sectionPairs.flatMap { lists in [["t c"], ["t c", "s a b"], layout].map { sections($0, lists) } }
      ),
      Group(
        name: "marks-elsewhere",
        sections: "11.5",
        title:
          "items that are named under another section, or at another position, and sections at another position",
        cases: [
          items(["s b", "t c"], "\"delete\":[\(place("a", "t", 0))]"),
          items(["s b", "t c"], "\"delete\":[\(place("a", "s", 1))]"),
          items(["s b", "t c"], "\"delete\":[\(place("a", "s", 2))]"),
          items(["s b", "t c"], "\"delete\":[\(place("a", "none", 0))]"),
          items(["s b", "t a c"], "\"move\":[\(move("a", ("t", 0), ("t", 0)))]"),
          items(["s b", "t a c"], "\"move\":[\(move("a", ("s", 1), ("t", 0)))]"),
          items(["s b", "t a c"], "\"move\":[\(move("a", ("none", 0), ("t", 0)))]"),
          items(["s b", "t c"], "\"move\":[\(move("a", ("s", 0), ("none", 0)))]"),
          items(layout, "\"reconfigure\":[\(place("a", "t", 0, data))]"),
          items(layout, "\"reconfigure\":[\(place("a", "s", 1, data))]"),
          items(layout, "\"reconfigure\":[\(place("z", "s", 0, data))]"),
          items(layout, "\"reconfigure\":[\(place("a", "none", 0, data))]"),
          items(["s a:k b", "t c"], "\"reload\":[\(place("a", "t", 0, ",\"kind\":\"k\",\"data\":1"))]"),
          items(["s a:k b", "t c"], "\"reload\":[\(place("a", "s", 1, ",\"kind\":\"k\",\"data\":1"))]"),
          items(layout, "\"reload\":[\(place("z", "s", 0, new))]"),
          items(layout, "\"reload\":[\(place("a", "none", 0, new))]"),
          sections(["t c"], "\"delete\":[\(section("s", 1))]"),
          sections(["t c"], "\"delete\":[\(section("s", 2))]"),
          sections(["t c", "s a b"], "\"move\":[\(shift("s", 1, 1))]"),
          sections(layout, "\"delete\":[\(section("z", 0))]"),
          sections(layout, "\"move\":[\(shift("z", 0, 0))]"),
          sections(layout, "\"reconfigure\":[\(section("s", 1, data))]"),
          sections(layout, "\"reload\":[\(section("s", 1, data))]"),
          sections(layout, "\"reconfigure\":[\(section("z", 0, data))]"),
          sections(layout, "\"reload\":[\(section("z", 0, data))]"),
          sections(layout, "\"reload\":[\(section("s", 2, data))]"),
        ]
      ),
      Group(
        name: "marks-positions",
        sections: "11.5",
        title: "positions beyond the end, and two elements at one",
        cases: [
          items(["s a b x", "t c"], "\"insert\":[\(place("x", "s", 3, new))]"),
          items(["s b a", "t c"], "\"move\":[\(move("a", ("s", 0), ("s", 2)))]"),
          items(["s b", "t c a"], "\"move\":[\(move("a", ("s", 0), ("t", 2)))]"),
          sections(["s a b", "t c", "x"], "\"insert\":[\(section("x", 3, data))]"),
          sections(["t c", "s a b"], "\"move\":[\(shift("s", 0, 2))]"),
          items(["s a b x y", "t c"], "\"insert\":[\(place("y", "s", 4, new)),\(place("x", "s", 3, new))]"),
        ]
          + [["s x y a b", "t c"], ["s y x a b", "t c"]].map {
            items($0, "\"insert\":[\(place("x", "s", 0, new)),\(place("y", "s", 0, new))]")
          }
          + [["s x c a b", "t"], ["s c x a b", "t"]].map {
            items($0, "\"insert\":[\(place("x", "s", 0, new))],\"move\":[\(move("c", ("t", 0), ("s", 0)))]")
          }
          + [["s b a c", "t"], ["s b c a", "t"]].map {
            items($0, "\"move\":[\(move("a", ("s", 0), ("s", 1))),\(move("c", ("t", 0), ("s", 1)))]")
          }
          + [["x", "y", "s a b", "t c"], ["y", "x", "s a b", "t c"]].map {
            sections($0, "\"insert\":[\(section("x", 0, data)),\(section("y", 0, data))]")
          }
          + [["t c", "x", "s a b"], ["x", "t c", "s a b"]].map {
            sections($0, "\"insert\":[\(section("x", 0, data))],\"move\":[\(shift("t", 1, 0))]")
          }
          + [["s a b", "t c"], ["t c", "s a b"]].map {
            sections($0, "\"move\":[\(shift("s", 0, 0)),\(shift("t", 1, 0))]")
          }
      ),
      Group(
        name: "marks-inserted",
        sections: "11.5",
        title: "inserted ids that are there, or come twice",
        cases: [["s a b a", "t c"], layout].map { items($0, "\"insert\":[\(place("a", "s", 2, new))]") }
          + [["s a b", "t c a"], ["s b", "t c a"], layout].map {
            items($0, "\"insert\":[\(place("a", "t", 1, new))]")
          }
          + [["s x x a b", "t c"], ["s x a b", "t c"], ["s x a b", "t x c"], ["s a b", "t x c"]].flatMap {
            layout in
            ["s", "t"].map {
              items(
                layout,
                "\"insert\":[\(place("x", "s", 0, new)),\(place("x", $0, $0 == "s" ? 1 : 0, new))]"
              )
            }
          }
          + [["s a b", "t c", "s"], ["t c", "s a b"], ["t c", "s"], layout].map {
            sections($0, "\"insert\":[\(section("s", 2, data))]")
          }
          + [["x", "x", "s a b", "t c"], ["x", "s a b", "t c"]].map {
            sections($0, "\"insert\":[\(section("x", 0, data)),\(section("x", 1, data))]")
          }
          + [["s b a", "t c a"], ["s b", "t c a"], ["s b a", "t c"]].map {
            items($0, "\"insert\":[\(place("a", "t", 1, new))],\"move\":[\(up)]")
          }
          + [["t c", "s", "s a b"], ["s", "t c"], ["s a b", "t c"]].map {
            sections($0, "\"insert\":[\(section("s", 0, data))],\"move\":[\(shift("s", 0, 1))]")
          }
      ),
      Group(
        name: "not-marks",
        sections: "11.5",
        title: "marks, places and contents that go together: nothing is wrong",
        cases: [
          items(["s b a", "t c"], "\"delete\":[\(gone)],\"insert\":[\(place("a", "s", 1, new))]"),
          items(["s b", "t c a"], "\"delete\":[\(gone)],\"insert\":[\(place("a", "t", 1, new))]"),
          sections(["t c", "s"], "\"delete\":[\(dead)],\"insert\":[\(section("s", 1, data))]"),
          difference(
            ["t c a b"],
            ",\"sections\":{\"delete\":[\(dead)]},\"items\":{\"insert\":[\(place("a", "t", 1, new)),\(place("b", "t", 2, new))]}"
          ),
          difference(
            ["t c a"],
            ",\"sections\":{\"delete\":[\(dead)]},\"items\":{\"move\":[\(move("a", ("s", 0), ("t", 1)))]}"
          ),
          difference(["t c"], ",\"sections\":{\"delete\":[\(dead)]},\"items\":{\"delete\":[\(gone)]}"),
          difference(
            ["s b", "x a", "t c"],
            ",\"sections\":{\"insert\":[\(section("x", 1, data))]},\"items\":{\"move\":[\(move("a", ("s", 0), ("x", 0)))]}"
          ),
          difference(
            ["s a b", "t c", "x y"],
            ",\"sections\":{\"insert\":[\(section("x", 2, data))]},\"items\":{\"insert\":[\(place("y", "x", 0, new))]}"
          ),
          difference(
            ["t c", "s b a"],
            ",\"sections\":{\"move\":[\(shifted)]},\"items\":{\"move\":[\(up)]}"
          ),
          difference(
            ["t c", "s b a"],
            ",\"sections\":{\"move\":[\(shifted)],\"reconfigure\":[\(section("s", 1, data))]},\"items\":{\"move\":[\(up)],\"reconfigure\":[\(place("a", "s", 1, data))]}"
          ),
          difference(
            ["t c", "s b a:k"],
            ",\"sections\":{\"move\":[\(shifted)],\"reload\":[\(section("s", 1, data))]},\"items\":{\"move\":[\(up)],\"reload\":[\(place("a", "s", 1, ",\"kind\":\"k\",\"data\":2"))]}"
          ),
          difference(
            ["s x a b", "t c"],
            ",\"items\":{\"insert\":[\(place("x", "s", 0, new))],\"reconfigure\":[\(place("x", "s", 0, ",\"data\":2")),\(place("b", "s", 2, data))]}"
          ),
          difference(
            ["x", "s a b", "t c"],
            ",\"sections\":{\"insert\":[\(section("x", 0, data))],\"reload\":[\(section("x", 0, ",\"data\":2"))]}"
          ),
          items(
            ["s x b", "t y"],
            "\"delete\":[\(place("c", "t", 0)),\(gone)],\"insert\":[\(place("x", "s", 0, new)),\(place("y", "t", 0, new))]"
          ),
          items(
            ["s x b y", "t c"],
            "\"delete\":[\(gone)],\"insert\":[\(place("y", "s", 2, new)),\(place("x", "s", 0, new))]"
          ),
          items(
            ["s c", "t a"],
            "\"delete\":[\(place("b", "s", 1))],\"move\":[\(far),\(move("c", ("t", 0), ("s", 0)))]"
          ),
          sections(
            ["x", "t c", "y"],
            "\"delete\":[\(dead)],\"insert\":[\(section("y", 2, data)),\(section("x", 0, ",\"data\":2"))]"
          ),
          items(
            ["s a:k b", "t c"],
            "\"reconfigure\":[\(place("a", "s", 0, data))],\"reload\":[\(place("a", "s", 0, ",\"kind\":\"k\",\"data\":2"))]"
          ),
          sections(
            layout,
            "\"reconfigure\":[\(section("s", 0, data))],\"reload\":[\(section("s", 0, ",\"data\":2"))]"
          ),
        ]
      ),
      Group(
        name: "marks-deleted",
        sections: "11.5",
        title: "what went with its section, or went away, is not there",
        cases: [
          difference(
            ["t c a"],
            ",\"sections\":{\"delete\":[\(dead)]},\"items\":{\"reconfigure\":[\(place("a", "s", 0, data))]}"
          ),
          difference(
            ["t c"],
            ",\"sections\":{\"delete\":[\(dead)]},\"items\":{\"insert\":[\(place("x", "s", 0, new))]}"
          ),
          difference(
            ["t"],
            ",\"sections\":{\"delete\":[\(dead)]},\"items\":{\"move\":[\(move("c", ("t", 0), ("s", 0)))]}"
          ),
          difference(
            ["t c"],
            ",\"sections\":{\"delete\":[\(dead)],\"reconfigure\":[\(section("s", 0, data))]}"
          ),
          difference(
            ["s b", "t c"],
            ",\"items\":{\"delete\":[\(gone)],\"reconfigure\":[\(place("a", "s", 0, data))]}"
          ),
          difference(
            ["s b", "t c"],
            ",\"items\":{\"delete\":[\(gone)],\"reload\":[\(place("b", "s", 1, new))]}"
          ),
          difference(
            ["s b a", "t c"],
            ",\"items\":{\"move\":[\(up)],\"reconfigure\":[\(place("a", "s", 0, data))]}"
          ),
          difference(
            ["t c", "s a b"],
            ",\"sections\":{\"move\":[\(shifted)],\"reconfigure\":[\(section("s", 0, data))]}"
          ),
        ]
      ),
    ]
  }

  // MARK: 11.6: reloads

  private static func edited(_ text: String, _ old: String, _ new: String) -> String {
    text.replacing(old, with: new, maxReplacements: 1)
  }

  /// The listed sections of a reload.
  private static func sections(_ layout: [String]) -> String {
    layout.map { words in
      let ids = words.split(separator: " ")
      let items = ids.dropFirst().map { "{\"id\":\"\($0)\",\"kind\":\"\",\"data\":null}" }
      return "{\"id\":\"\(ids[0])\",\"data\":null,\"items\":[\(items.joined(separator: ","))]}"
    }.joined(separator: ",")
  }

  static func reloads() -> [Group] {
    let long = "\"\(String(repeating: "é", count: 128))\""
    func listed(
      _ layout: [String],
      _ old: String = "",
      _ new: String = "",
      _ edits: [String: String?] = [:]
    ) -> [Line] {
      let text = old.isEmpty ? sections(layout) : edited(sections(layout), old, new)
      return [changeset(2, "reload", layout, rest: ",\"sections\":[\(text)]", key: "k0", edits)]
    }
    func other(_ layout: [String], _ text: [String]) -> [Line] {
      [changeset(2, "reload", layout, rest: ",\"sections\":[\(sections(text))]", key: "k0")]
    }
    let item = "\"id\":\"a\",\"kind\":\"\",\"data\":null"
    let id = "\"id\":\"s\",\"data\":null"
    let wrong: [(String, String)] =
      ["", "\"id\":5,", "\"id\":null,", "\"id\":\"\",", "\"id\":[],", "\"id\":\(long),"].flatMap { text in
        [(item, "\(text)\"kind\":\"\",\"data\":null"), (id, "\(text)\"data\":null")]
      }
      + ["", "\"kind\":5,", "\"kind\":null,", "\"kind\":[],", "\"kind\":\(long),"].map {
        (item, "\"id\":\"a\",\($0)\"data\":null")
      }
      + [(item, "\"id\":\"a\",\"kind\":\"\""), (id, "\"id\":\"s\"")]
    return [
      Group(
        name: "reload-fields",
        sections: "11.6 11.7",
        title: "sections and items of reloads that lack a field, or have it with a wrong type",
        cases: wrong.map { listed(["s a b", "t c"], $0.0, $0.1) }
      ),
      Group(
        name: "reload-twice",
        sections: "11.6",
        title: "ids of reloads that come twice, with the checksum of each result that it could have",
        cases: [
          (["s a a"], ["s a a"]), (["s a"], ["s a a"]), (["s a", "t a"], ["s a", "t a"]),
          (["s a", "t"], ["s a", "t a"]),
          (["s", "t a"], ["s a", "t a"]), (["s a", "s b"], ["s a", "s b"]), (["s a b"], ["s a", "s b"]),
          (["s b"], ["s a", "s b"]),
          (["s a"], ["s a", "s b"]), (["s a", "t c", "s b"], ["s a", "t c", "s b"]),
          (["s a b", "t c"], ["s a", "t c", "s b"]),
          (["s", "s"], ["s", "s"]), (["s"], ["s", "s"]),
        ].map { other($0.0, $0.1) }
      ),
      Group(
        name: "not-reload",
        sections: "11.3 11.6",
        title: "reloads of other contents, ids and texts: nothing is wrong",
        cases: [
          listed(layout, "\"data\":null", "\"data\":5"),
          listed(layout, item, "\"id\":\"a\",\"kind\":\"\",\"data\":{\"x\":[1.0,1e0]}"),
          listed(["s b", "t a"]), listed(["t", "s"]), listed(["a s", "c t"]), listed(["s s", "t t"]),
          listed([]),
          listed(["s \(String(repeating: "x", count: 255))"]),
          listed(["\(String(repeating: "é", count: 127))x"]),
          listed(layout, "\"id\":\"s\"", "\"kind\":5,\"index\":false,\"section\":null,\"id\":\"s\""),
          listed(
            layout,
            "\"id\":\"a\"",
            "\"items\":5,\"index\":false,\"order\":5,\"keep\":5,\"section\":5,\"id\":\"a\""
          ),
          listed(["é 😀"]), listed(["S a A"]), listed(["s a 1 01"]),
          listed(layout, "", "", ["revision": "8", "base": "3", "reason": "\"new\""]),
        ]
      ),
      Group(
        name: "reload-checksum",
        sections: "4.3 11.6",
        title: "reloads with checksums of another order, section or kind",
        cases: [
          (["s b a", "t c"], layout), (["t c", "s a b"], layout), (["s a", "t b c"], layout),
          (["s a:k b", "t c"], layout),
          ([], layout), (layout, ["s a b", "t c", "u"]),
        ].map { other($0.0, $0.1) }
      ),
    ]
  }
}
