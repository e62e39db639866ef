import Feed
import FeedStore
import FeedTools
import FeedVerification
import Foundation
import Testing

/// A single fault in an otherwise valid output is found, with its position and message.
@Suite struct PlantedFaultTests {
  private static let options: FeedStoreOptions = {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 0
    options.keyframe.maxDeltas = 3
    options.keyframe.maxBytesRatio = 10
    options.planner.minimumItems = 1000
    options.planner.maxBytesRatio = 10
    return options
  }()

  /// Its output: 1 the feed, 2 a difference, 3 data, 4 deletions with 5 their keyframe, 6 a section, 7 another feed, 8
  /// a deletion with 9 to 12 its nulls, 13 the recreated feed.
  private static let input = [
    #"{"op":"feed.replace","sections":[{"id":"s","items":["a","b","c","d"]},{"id":"t","items":["x","y"]}]}"#,
    #"[{"op":"item.move","item":"a","at":"last"},{"op":"item.upsert","item":"e","section":"t","at":"first"},{"op":"item.upsert","item":"g","section":"s"}]"#,
    #"[{"op":"item.patch","item":"b","data":{"n":1}},{"op":"item.patch","item":"c","data":2}]"#,
    #"[{"op":"item.delete","item":"c"},{"op":"item.delete","item":"x"}]"#,
    #"{"op":"section.upsert","section":"u"}"#, #"{"op":"section.upsert","section":"v"}"#, "null",
    #"{"op":"section.upsert","section":"s"}"#,
  ].enumerated().map { number, value in
    #"{"ts":\#(number * 1000),"key":"\#(number == 5 ? "other" : "f")","value":\#(value)}"#
  }

  /// A change of lines, with the expected position and message.
  struct Plant: Sendable, CustomTestStringConvertible {
    let name: String
    let line: Int
    let words: String
    let edit: @Sendable (inout [String]) -> Void

    init(
      _ name: String,
      found line: Int,
      _ words: String,
      _ edit: @escaping @Sendable (inout [String]) -> Void
    ) {
      (self.name, self.line, self.words, self.edit) = (name, line, words, edit)
    }

    /// Plants from text, three lines each: the name and the line where it is found, what is done, and the message.
    ///
    /// Lines are counted from 1. In the line of the fault `old → new` replaces text once, `old ⇒ new` everywhere, and
    /// `one ↔ other` lets two elements of a list change places; `;` divides several of these. `without 2...4` and
    /// `swapped 2...3` are about lines.
    static func table(_ text: String) -> [Plant] {
      let rows = text.split(separator: "\n").map(String.init)
      return stride(from: 0, to: rows.count, by: 3).map { row in
        let head = rows[row].components(separatedBy: ", line ")
        let line = Int(head[1]) ?? 0
        return Plant(head[0], found: line, rows[row + 2]) { lines in
          for text in rows[row + 1].components(separatedBy: " ; ") { edit(&lines, line - 1, text) }
        }
      }
    }

    private static func edit(_ lines: inout [String], _ line: Int, _ text: String) {
      for (sign, most) in [("→", 1), ("⇒", .max), ("↔", 1)] where text.contains(sign) {
        let words = text.components(separatedBy: sign).map { $0.trimmingCharacters(in: .whitespaces) }
        let old = sign == "↔" ? "\(words[0]),\(words[1])" : words[0]
        let new = sign == "↔" ? "\(words[1]),\(words[0])" : words[1]
        #expect(lines[line].contains(old), "line \(line + 1) has no \(old)")
        lines[line] = lines[line].replacing(old, with: new, maxReplacements: most)
        return
      }
      let numbers = text.split(separator: " ")[1].components(separatedBy: "...").compactMap { Int($0) }
      if text.hasPrefix("swapped") { return lines.swapAt(numbers[0] - 1, numbers[1] - 1) }
      lines.removeSubrange(numbers[0] - 1...(numbers.last ?? 0) - 1)
    }

    var testDescription: String { name }

    /// Applies the change and verifies the result. The lines are renumbered, so that offsets do not reveal the fault.
    func check(_ replay: VerifiedReplay) async throws {
      var lines = replay.lines
      edit(&lines)
      #expect(lines != replay.lines)
      let (told, report) = try await replay.verify(VerifiedReplay.renumbered(lines))
      #expect(
        told.contains { $0.hasPrefix("\(line): ") && $0.contains(words) },
        "expected line \(line): \(words), told \(told)"
      )
      #expect(!report.isRight && report.faults == told.count)
    }
  }

  private static let replacements = #"""
    swapped indices, line 2
    "section":"s","index":4 → "section":"s","index":5
    position
    a wrong base position, line 4
    "section":"s","index":1 → "section":"s","index":2
    the changeset says position 2 of "c", expected 1
    a wrong position of data, line 3
    "section":"s","index":0 → "section":"s","index":7
    the changeset says position 7 of "b", expected 0
    a position beyond the end, line 2
    "section":"t","index":0 → "section":"t","index":9
    the changeset says position 9 of "e", expected 0 to 2
    an item of another section, line 4
    "section":"t","index":1 → "section":"s","index":2
    the changeset says section "s" of item "x", expected "t"
    a wrong base, line 3
    "base":2 → "base":1
    the base of revision 3 is 1, expected 2
    a wrong revision, line 3
    "revision":3 → "revision":4
    the base of revision 4 is 2, expected 3
    a wrong checksum, line 2
    "checksum":"f630 → "checksum":"f631
    the checksum is f630e9de, expected f631e9de
    a checksum in capitals, line 2
    f630e9de → F630e9de
    is not valid: "F630e9de"
    a wrong reload's checksum, line 7
    8eb930e5 → 8eb930e6
    the checksum of revision 1 is 8eb930e6, expected 8eb930e5
    a checksum of a deletion, line 8
    "checksum":"00000000" → "checksum":"00000001"
    expected 00000000
    a keyframe with other data, line 5
    {"n":1} → {"n":2}
    the keyframe differs from the feed: item "b" has data the object {"n":2}, expected the object {"n":1}
    a keyframe that lacks an item, line 5
    ,{"id":"g","kind":"","data":null} →
    item "g" of section "s" is missing
    a keyframe with an item too many, line 5
    {"id":"y", → {"id":"z","kind":"","data":null},{"id":"y",
    item 1 of section "t" is "z", expected "y"
    a wrong key number, line 3
    "key":"d2/f" → "key":"d3/f"
    the key is "d3/f", expected "d2/f": 1 delta records follow the reload
    a key with a zero before its number, line 3
    "key":"d2/f" → "key":"d02/f"
    the key is "d02/f", which is neither k<part>/<feed> nor d<n>/<feed>, with numbers from k0 and d1 to 1000000
    a key with a number that none has, line 3
    "key":"d2/f" → "key":"d1000001/f"
    the key is "d1000001/f", which is neither
    a reload under a delta's key, line 5
    "key":"k0/f" → "key":"d4/f"
    the key is "d4/…", expected "k0/…"
    a key of another part, line 5
    "key":"k0/f" → "key":"k1/f"
    the key is "k1/…", expected "k0/…" for the keyframe of revision 4
    a key of no feed, line 3
    "key":"d2/f" → "key":"f"
    the key is "f", which is neither k<part>/<feed> nor d<n>/<feed>
    a null of another time, line 10
    "ts":6000 → "ts":6001
    the timestamp is 6001, expected 6000
    a null with headers, line 10
    "headers":[] → "headers":["a","b"]
    a null has a header "a", expected none
    a wrong header, line 3
    "ce_sequence","00000000000000000003" → "ce_sequence","3"
    the header "ce_sequence" is "3", expected "00000000000000000003"
    a plan of reconfigure entries, line 3
    "ce_sequence","00000000000000000003" → "ce_sequence","00000000000000000003","feedstore.plan","{}"
    there is a header "feedstore.plan", expected no more than the eight
    a wrong weight, line 2
    \"weight\":3 → \"weight\":4
    has weight 4, expected 3
    a plan without a figure, line 2
    \"weight\":3, →
    does not have the figures of a plan
    a plan spelled otherwise, line 2
    \"maxReloadRatio\":3 → \"maxReloadRatio\":3.0
    "maxReloadRatio":3.0,"maxBytesRatio":10}, expected {"weight
    a plan of a reload, line 2
    \"maxChanges\":5000 → \"maxChanges\":2
    is that of a reload
    too many items, line 2
    \"itemsAfter\":8 → \"itemsAfter\":9
    has itemsAfter 9, expected 8
    a keyframe's plan, line 5
    \"deltas\":3 → \"deltas\":4
    has deltas 4, expected 3
    a header of another source, line 3
    /feedstore → /elsewhere
    the header "ce_source" is "/elsewhere", expected "/feedstore"
    a wrong event id, line 5
    /keyframe0 → /0
    the header "ce_id" is "f@feeds.items:0/0@4/0", expected "f@feeds.items:0/0@4/keyframe0"
    a missing header, line 3
    "ce_type","feedstore.changeset", →
    header 2 is "ce_source", expected "ce_type"
    a header too many, line 3
    "headers":[ → "headers":["x","y",
    header 0 is "x", expected "content-type"
    a wrong timestamp, line 3
    "ts":2000 → "ts":2001
    the timestamp is 2001, expected 2000
    a missing field, line 3
    "base":2, →
    the value lacks one of
    a time in another form, line 3
    "time":"1970-01-01T00:00:02.000Z" → "time":"1970-01-01T00:00:02Z"
    the time is "1970-01-01T00:00:02Z", expected one like
    a date that is none, line 3
    "time":"1970-01-01T → "time":"1970-02-30T
    the time is "1970-02-30T00:00:02.000Z", expected
    a mode that does not fit, line 3
    "mode":"reconfigure" → "mode":"diff"
    the mode is "diff" with nothing but reconfigure entries, expected "reconfigure"
    another mode that does not fit, line 4
    "mode":"diff" → "mode":"reconfigure"
    the mode is "reconfigure" with entries in items.delete, expected "diff"
    an unknown mode, line 4
    "mode":"diff" → "mode":"patch"
    the field "mode" is not valid: "patch"
    an unknown reason, line 5
    "reason":"keyframe" → "reason":"because"
    a reload has no reason of the protocol, version 1.0
    a reload that only looks initial, line 7
    "reason":"initial" → "reason":"changes"
    revision 1 has mode "reload" and reason "changes", expected a reload with reason "initial"
    a reason without a reload, line 4
    "mode":"diff", → "mode":"diff","reason":"bytes",
    mode "diff" has a reason; only reloads have one
    a through that falls, line 3
    "feeds.items":2 → "feeds.items":0
    through falls from 1 to 0 for topic "feeds.items"
    a through that stays, line 3
    "feeds.items":2 → "feeds.items":1
    through is the same as before
    an unsorted through, line 3
    "feeds.items":2 → "feeds.items":2,"feeds.a":1
    through is not sorted
    a through before the epoch, line 7
    "feeds.items":5 → "feeds.items":4
    through does not reach the record that the epoch "feeds.items:5000/5" names
    a plan of other bytes, line 4
    "items":{"delete":[ → "items":{"insert":[],"delete":[
    has differenceBytes 249, expected 261
    an element that is not there, line 4
    {"id":"c", → {"id":"q",
    deletes or moves "q", which is not there
    a line without its headers, line 9
    "headers":[], →
    the line has no field 'headers'
    another topic, line 3
    feeds.changesets → feeds.other
    the topic is "feeds.other", expected "feeds.changesets"
    a missing record, line 2
    without 2
    revision 3 follows revision 1
    a missing first record, line 1
    without 1
    revision 2 follows without its reload
    two records in each other's place, line 2
    swapped 2...3
    revision 3 follows revision 1
    a keyframe with another order, line 5
    {"id":"a","kind":"","data":null} ↔ {"id":"g","kind":"","data":null}
    item 2 of section "s" is "g", expected "a"
    a keyframe of another time, line 5
    03.000Z ⇒ 04.000Z ; "ts":3000 ⇒ "ts":4000
    expected "1970-01-01T00:00:03.000Z"
    an element in reconfigure and in reload, line 3
    "mode":"reconfigure" → "mode":"diff" ; "data":2}] → "data":2}],"reload":[{"id":"b","section":"s","index":0,"kind":"","data":{"n":1}}]
    "b" is in items.reconfigure and in items.reload
    a keyframe that is missing, line 5
    without 5
    found revision 5, expected a keyframe (3 delta records since the reload, keyframe.maxDeltas is 3)
    an unsorted list, line 2
    {"id":"g","section":"s","index":4,"kind":"","data":null} ↔ {"id":"e","section":"t","index":0,"kind":"","data":null}
    items.insert is not sorted: "e" precedes "g", expected after it
    an unsorted list of deletions, line 4
    {"id":"c","section":"s","index":1} ↔ {"id":"x","section":"t","index":1}
    items.delete is not sorted: "x" precedes "c"
    unsorted data changes, line 3
    {"id":"b","section":"s","index":0,"data":{"n":1}} ↔ {"id":"c","section":"s","index":1,"data":2}
    items.reconfigure is not sorted
    another feed's key, line 3
    "key":"d2/f" → "key":"d2/g"
    feed "g": the value is of feed "f", the key of "g"
    a missing null after a deletion, line 11
    without 11
    found another null, expected a null under "d2/f", as the feed was deleted
    a missing last null, line 12
    without 12
    found revision 1, expected a null under "d3/f"
    no null at all after a deletion, line 9
    without 9...12
    expected a null under "k0/f"
    no null at the end, line 8
    without 9...13
    after this, a null under "k0/f", as the feed was deleted is missing
    an epoch of another form, line 7
    feeds.items:5000/5 ⇒ feeds.items:05000/5
    the epoch is "feeds.items:05000/5", expected a topic, milliseconds and an offset
    an epoch that begins without a deletion, line 3
    feeds.items:0/0 ⇒ feeds.items:0/1
    the epoch is "feeds.items:0/1", expected "feeds.items:0/0": another begins after a deletion only
    a deletion of an unknown epoch, line 8
    feeds.items:0/0 ⇒ feeds.items:0/1
    the epoch is "feeds.items:0/1", expected "feeds.items:0/0"
    a move to the same place, line 2
    "move":[ → "move":[{"id":"b","from":{"section":"s","index":1},"to":{"section":"s","index":0}},
    items.move lists "b" from 1 to 0, its position without the move
    data changes of what is inserted, line 2
    }}]}}} → }}],"reconfigure":[{"id":"g","section":"s","index":4,"data":null}]}}}
    "g" is in items.insert and in items.reconfigure
    """#

  static let plants: [Plant] =
    Plant.table(replacements) + [
      Plant("a record twice", found: 3, "revision 2 follows itself, expected 3") { $0.insert($0[1], at: 2) },
      Plant("a keyframe that is not due", found: 3, "none is due with 1 delta records") { lines in
        var keyframe = lines[4]
        for (old, new) in [
          ("03.000Z", "01.000Z"), ("\"ts\":3000", "\"ts\":1000"), ("\"revision\":4", "\"revision\":2"),
          ("\"base\":4", "\"base\":2"), ("\"feeds.items\":3", "\"feeds.items\":1"), ("@4/", "@2/"),
          ("00004\"", "00002\""),
        ] { keyframe = keyframe.replacing(old, with: new) }
        lines.insert(keyframe, at: 2)
      },
      Plant("a null out of nothing", found: 4, "a null, but revision 3 left no key over and deleted nothing")
      {
        $0.insert($0[8].replacing("\"ts\":6000", with: "\"ts\":2000"), at: 3)
      },
      Plant("a missing plan", found: 2, #"the header "feedstore.plan" is missing"#) { lines in
        let start = lines[1].range(of: ",\"feedstore.plan\"")
        let end = lines[1].range(of: "],\"key\"")
        guard let start, let end else { return }
        lines[1].removeSubrange(start.lowerBound..<end.lowerBound)
      },
      Plant(
        "a deletion of a feed that is not there",
        found: 14,
        #"epoch "feeds.items:0/0" is deleted, but there is no such feed"#
      ) {
        var deletion = $0[7]
        for old in [#"d2/f""#, #""feed":"f""#, #""f@"#, #""ce_subject","f""#] {
          deletion = deletion.replacing(
            old,
            with: old.replacing("f@", with: "g@").replacing("f\"", with: "g\"")
          )
        }
        $0.append(deletion)
      },
      Plant(
        "a deletion and an insertion of one id",
        found: 2,
        #""a" is in items.delete and in items.insert"#
      ) { lines in
        lines[1] = lines[1].replacing(
          #""insert":["#,
          with:
            #""delete":[{"id":"a","section":"s","index":0}],"insert":[{"id":"a","section":"s","index":3,"kind":"","data":null},"#
        )
        .replacing(/,"move":\[.*?\]/, with: "")
      },
      Plant("a line that is no record", found: 3, "the line is not a JSON object") { $0[2] = "{" },
    ]

  @Test func `the output has the lines that the faults expect`() async throws {
    let replay = try await VerifiedReplay(Self.input, Self.options)
    #expect(replay.lines.count == 13)
    #expect(try await replay.verify(replay.lines).told == [])
  }

  @Test(arguments: plants)
  func `a fault is found at its place`(plant: Plant) async throws {
    let replay = try await VerifiedReplay(Self.input, Self.options)
    try await plant.check(replay)
  }

  @Test func `the first fault of each feed is reported, and verification continues`() async throws {
    let replay = try await VerifiedReplay(Self.input, Self.options)
    var lines = replay.lines
    for line in [1, 2, 7] { lines[line] = lines[line].replacing("Z\",\"through\"", with: "\",\"through\"") }
    let (told, report) = try await replay.verify(lines)
    #expect(told.count == 1 && told[0].hasPrefix("2: feed \"f\": the time is"), "\(told)")
    #expect(report.counts.faultyFeeds == 1 && report.counts.feeds == 1)
    #expect(report.counts.recordsPassedOver == 10)
  }

  @Test func `a missing line is visible in the offsets`() async throws {
    let replay = try await VerifiedReplay(Self.input, Self.options)
    var lines = replay.lines
    lines.remove(at: 6)
    let (told, _) = try await replay.verify(lines)
    #expect(told == ["7: the offset in partition 0 is 7, expected 6"])
  }

  @Test func `an id cannot control the terminal`() async throws {
    let input = #"{"key":"f","value":{"op":"section.upsert","section":"\u001b[31m\u009b"}}"#
    let lines = try await VerifiedReplay([input], Self.options).lines.map {
      $0.replacing(/"sections":\[({.*?})\]/) { "\"sections\":[\($0.1),\($0.1)]" }
    }
    let (told, _) = try await VerifiedReplay([input], Self.options).verify(lines)
    #expect(!told.isEmpty)
    #expect(
      told.allSatisfy { !$0.unicodeScalars.contains { $0.properties.generalCategory == .control } },
      "\(told)"
    )
  }
}
