@testable import Oracle

extension DamagedLogs {

  // MARK: - Small logs: a reload of the feed `f`, one damaged changeset, a difference, and a reload that repairs it

  /// Each shows one rule that no other damage shows: without the rule, the damaged record would be accepted.
  func small() -> [Case] {
    let layout = ["s a b", "t c"]
    let reload = Self.reload(2, layout)
    let deletion = Self.changeset(2, "delete", [])
    func difference(_ layout: [String], _ lists: String, _ group: String = "items") -> Line {
      Self.changeset(2, "diff", layout, rest: ",\"\(group)\":{\(lists)}")
    }
    func items(_ list: String, _ entry: String, _ layout: [String]) -> Line {
      difference(layout, "\"\(list)\":[{\(entry)}]")
    }
    let lossless = items("delete", "\"id\":\"c\",\"section\":\"t\",\"index\":0", ["s a b", "t"])
    let parts = [
      Self.edited(Self.reload(3, layout, listed: 0..<1), "\"base\":2,", "\"base\":2,\"part\":0,\"parts\":2,"),
      Self.edited(
        Self.reload(3, layout, listed: 1..<2, key: "k1"),
        "\"base\":2,",
        "\"base\":2,\"part\":1,\"parts\":2,"
      ),
    ]
    let bases = ["reload": reload, "deletion": deletion, "lossless": lossless]
    let edits = Self.edits(
      #"""
      missing-feed | deletion | a deletion without its feed
      "feed":"f", →
      missing-epoch | reload | a reload without its epoch
      "epoch":"feeds.items:0/0", →
      missing-revision | reload | a reload without its revision
      "revision":2, →
      missing-base | deletion | a deletion without its base
      "base":1, →
      missing-mode | lossless | a difference without its mode
      "mode":"diff", →
      missing-through | deletion | a deletion without its through
      "through":{"feeds.items":0}, →
      missing-checksum | deletion | a deletion without its checksum
      ,"checksum":"00000000" →
      type-feed | deletion | a deletion whose feed is a number
      "f" → 5
      type-epoch | reload | a reload whose epoch is a number
      "feeds.items:0/0" → 5
      type-base | deletion | a deletion whose base is a string
      "base":1 → "base":"1"
      type-mode | lossless | a difference whose mode is a number
      "diff" → 5
      type-time | deletion | a deletion whose time is a number
      "1970-01-01T00:00:00.000Z" → 0
      type-checksum | deletion | a deletion whose checksum is null
      "00000000" → null
      type-checksum-short | deletion | a deletion whose checksum has seven digits
      "00000000" → "0000000"
      type-parts | reload | a reload whose part and parts are strings
      "base":1, → "base":1,"part":"0","parts":"1",
      type-part-last | deletion | a deletion that is part 2 of 2
      "base":1, → "base":1,"part":2,"parts":2,
      """#
    ).compactMap { edit in
      bases[edit.place].map { (edit.name, "11.7", edit.title, [Self.edited($0, edit.old, edit.new)]) }
    }
    let cases: [(name: String, sections: String, title: String, lines: [Line])] =
      edits + [
        (
          "entry-kind", "11.7", "an item is inserted without its kind",
          [items("insert", "\"id\":\"x\",\"section\":\"s\",\"index\":2,\"data\":1", ["s a b x", "t c"])]
        ),
        (
          "entry-index", "11.7", "an item is inserted without its index",
          [items("insert", "\"id\":\"x\",\"section\":\"s\",\"kind\":\"\",\"data\":1", ["s x a b", "t c"])]
        ),
        (
          "entry-section-data", "11.6", "the first section of a reload has no data",
          [Self.edited(reload, "\"id\":\"s\",\"data\":null", "\"id\":\"s\"")]
        ),
        (
          "entry-item-kind", "11.6", "an item of a reload has no kind",
          [Self.edited(reload, "\"id\":\"a\",\"kind\":\"\"", "\"id\":\"a\"")]
        ),
        (
          "parts-malformed-between", "11.7", "a malformed record drops the parts that came before it",
          [parts[0], Line(partition: 0, offset: 0, key: Array("d1/f".utf8), value: []), parts[1]]
        ),
        (
          "parts-checksum-first", "11.4",
          "the first of two parts has another checksum, the last the right one",
          [Self.edited(parts[0], "\"checksum\":\"", "\"checksum\":\"00000000\",\"was\":\""), parts[1]]
        ),
        (
          "same-reload-twice", "11.6", "a reload with an item twice, and the checksum of that",
          [Self.reload(2, ["s a a"])]
        ),
        (
          "same-insert", "11.5", "an item is inserted that is there, with the checksum of that",
          [
            items(
              "insert",
              "\"id\":\"a\",\"section\":\"s\",\"index\":2,\"kind\":\"\",\"data\":1",
              ["s a b a", "t c"]
            )
          ]
        ),
        (
          "same-insert-nowhere", "11.5",
          "an item is inserted into a section that is not there, with the checksum without it",
          [items("insert", "\"id\":\"x\",\"section\":\"none\",\"index\":0,\"kind\":\"\",\"data\":1", layout)]
        ),
        (
          "same-reload-item", "11.5", "an item is reloaded at another position, with the right checksum",
          [items("reload", "\"id\":\"a\",\"section\":\"s\",\"index\":1,\"kind\":\"\",\"data\":1", layout)]
        ),
        (
          "same-sections", "11.5", "two sections at one position, with the checksum of one order",
          [
            difference(
              ["s a b", "t c", "y", "x"],
              "\"insert\":[{\"id\":\"x\",\"index\":2,\"data\":1},{\"id\":\"y\",\"index\":2,\"data\":1}]",
              "sections"
            )
          ]
        ),
        (
          "not-kind", "11.5", "a kind in reconfigure is ignored: nothing is wrong",
          [
            items(
              "reconfigure",
              "\"id\":\"a\",\"section\":\"s\",\"index\":0,\"kind\":\"k\",\"data\":1",
              layout
            )
          ]
        ),
        (
          "other-epoch", "11.3", "a difference of another epoch that would fit",
          [Self.edited(lossless, "feeds.items:0/0", "feeds.items:0/7")]
        ),
      ]
    let sections = ",\"sections\":{\"insert\":[{\"id\":\"s\",\"index\":0,\"data\":1}]}"
    let first = Self.changeset(1, "diff", ["s"], rest: sections)
    let repair = [lossless, Self.reload(9, ["s a"])]
    let old = [Self.reload(1, layout), lossless].map { Self.edited($0, "feeds.items:0/0", "feeds.items/0") }
    return [
      ("first-difference", "11.3", "a feed that begins with a difference", ChangesetLog([first] + repair)),
      ("not-epoch", "4.7", "an epoch as version 1.0 wrote it: nothing is wrong", ChangesetLog(old)),
    ]
      + cases.map { name, sections, title, lines in
        (name, sections, title, ChangesetLog([Self.reload(1, layout)] + lines + repair))
      }
  }

  /// A changeset with the checksum of a layout: sections, each followed by its items, which may have a kind after a colon.
  ///
  /// - Parameter edits: other texts for members of the head; nil leaves one out.
  static func changeset(
    _ revision: Int,
    _ mode: String,
    _ layout: [String],
    rest: String = "",
    key: String = "d1",
    _ edits: [String: String?] = [:]
  ) -> ChangesetLog.Line {
    let sections = layout.map { words in
      let ids = words.split(separator: " ").map { $0.split(separator: ":").map { Array($0.utf8) } }
      let items = ids.dropFirst().map { OracleItem(id: $0[0], kind: $0.count > 1 ? $0[1] : []) }
      return OracleSection(id: ids[0][0], items: items)
    }
    let checksum = OracleChecksum.text(OracleChecksum.of(OracleFeed(sections: sections)))
    let members: [(String, String?)] = [
      ("feed", "\"f\""), ("epoch", "\"feeds.items:0/0\""), ("revision", "\(revision)"),
      ("base", "\(revision - 1)"), ("part", nil), ("parts", nil), ("mode", "\"\(mode)\""),
      ("reason", mode == "reload" ? "\"requested\"" : nil), ("time", "\"1970-01-01T00:00:00.000Z\""),
      ("through", "{\"feeds.items\":0}"), ("checksum", "\"\(checksum)\""),
    ]
    let head = members.compactMap { name, text in
      (edits[name] ?? text).map { "\"\(name)\":\($0)" }
    }.joined(separator: ",")
    return Line(partition: 0, offset: 0, key: Array("\(key)/f".utf8), value: Array("{\(head)\(rest)}".utf8))
  }

  /// A reload of a layout, or the part of it that lists some of the sections.
  static func reload(
    _ revision: Int,
    _ layout: [String],
    listed: Range<Int>? = nil,
    key: String = "k0",
    _ edits: [String: String?] = [:]
  ) -> ChangesetLog.Line {
    let sections = layout[listed ?? layout.indices].map { words in
      let ids = words.split(separator: " ")
      let items = ids.dropFirst().map { "{\"id\":\"\($0)\",\"kind\":\"\",\"data\":null}" }.joined(
        separator: ","
      )
      return "{\"id\":\"\(ids[0])\",\"data\":null,\"items\":[\(items)]}"
    }
    let rest = ",\"sections\":[\(sections.joined(separator: ","))]"
    return changeset(revision, "reload", layout, rest: rest, key: key, edits)
  }

  /// The record with other text in place of the first occurrence of some.
  static func edited(_ line: ChangesetLog.Line, _ text: String, _ other: String) -> ChangesetLog.Line {
    var line = line
    if let range = line.value?.firstRange(of: Array(text.utf8)) {
      line.value?.replaceSubrange(range, with: Array(other.utf8))
    }
    return line
  }
}
