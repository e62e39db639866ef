import Feed
import FeedStore
import Testing

/// Faults in split changesets, in the nulls after a smaller reload, and with sections.
@Suite struct PlantedPartFaultTests {
  private static let options: FeedStoreOptions = {
    var options = FeedStoreOptions()
    options.coalescing.windowMilliseconds = 0
    options.limits.maxDataBytes = 300
    options.output.maxMessageBytes = 1200
    options.keyframe.maxBytesRatio = 100
    options.planner.minimumItems = 1000
    options.planner.maxBytesRatio = 100
    return options
  }()

  /// Its output: 1 to 3 the feed, 4 to 6 data, 7 a deletion of a section, 8 a reload of one part with 9 and 10 the
  /// nulls for the remaining keys.
  private static let input: [String] = {
    func items(_ letter: String) -> String {
      (0..<6).map { number in
        #"{"id":"i\#(number)","data":"\#(String(repeating: letter, count: 290))"}"#
      }.joined(separator: ",")
    }
    let values = [
      #"{"op":"feed.replace","sections":[{"id":"s","items":[\#(items("a"))]},{"id":"t","items":["x","y"]}]}"#,
      #"{"op":"section.replace","section":"s","items":[\#(items("b"))]}"#,
      #"{"op":"section.delete","section":"t"}"#,
      #"[{"op":"section.replace","section":"s","items":["i0"]},{"op":"feed.reload"}]"#,
    ]
    return values.enumerated().map { #"{"ts":\#($0 * 1000),"key":"f","value":\#($1)}"# }
  }()

  private typealias Plant = PlantedFaultTests.Plant

  private static let table = #"""
    a torn part set, line 2
    without 2
    found revision 1, part 2 of 3, expected part 1 of 3 of revision 1
    a torn part set at its end, line 3
    without 3
    found revision 2, part 0 of 3, expected part 2 of 3 of revision 1
    parts that begin in the middle, line 1
    without 1
    revision 1, part 1 of 3 follows without its earlier parts
    a torn difference, line 5
    without 5
    found revision 2, part 2 of 3, expected part 1 of 3 of revision 2
    an end within the parts, line 5
    without 6...10
    after this, part 2 of 3 of revision 2 is missing
    parts in another order, line 2
    swapped 2...3
    found revision 1, part 2 of 3
    a section that goes on without the part before, line 2
    "sections":[{"id":"s", → "sections":[{"id":"r",
    section "r" has no data, and does not continue from the part before
    a section that goes on with data, line 2
    "sections":[{"id":"s", ⇒ "sections":[{"id":"s","data":null, ; aaaaaaaaaaaaaaaaaaaa →
    the reload lists section "s" twice
    a value that is too large, line 4
    bbbb ⇒ bbbbbbbbbbbbbbbb
    bytes, output.maxMessageBytes is 1200
    items listed that go with their section, line 7
    }]}}} → }]},"items":{"delete":[{"id":"x","section":"t","index":0}]}}}
    items.delete lists "x", which goes with its section "t"
    a key too few that is nulled, line 9
    without 9
    found another null, expected a null under "k1/f", as the reload has fewer parts than the one before
    no keys that are nulled, line 8
    without 9...10
    after this, a null under "k1/f"
    the reason disjoint where items stay, line 8
    "reason":"requested" → "reason":"disjoint"
    the reason of revision 4 is "disjoint", but 1 items stayed
    """#

  static let plants: [PlantedFaultTests.Plant] =
    Plant.table(table) + [
      Plant(
        "parts apart",
        found: 2,
        "found a record of another feed, expected part 1 of 3 of revision 1"
      ) {
        $0.insert($0[9].replacing("/f\"", with: "/g\""), at: 1)
      },
      Plant(
        "a part of another checksum",
        found: 5,
        "found revision 2, part 1 of 3, expected part 1 of 3 of revision 2"
      ) {
        $0[4] = $0[4].replacing(/"checksum":"."/, with: #""checksum":"x""#).replacing(
          /"checksum":"(.)(.{7})"/,
          with: { #""checksum":"\#($0.output.1 == "0" ? "1" : "0")\#($0.output.2)""# }
        )
      },
    ]

  @Test func `the output has the lines that the faults expect`() async throws {
    let replay = try await VerifiedReplay(Self.input, Self.options)
    #expect(replay.lines.count == 10, "\(replay.lines.map { $0.drop { $0 != "]" }.prefix(300) })")
    #expect(try await replay.verify(replay.lines).told == [])
  }

  @Test(arguments: plants)
  func `a fault in parts is found at its place`(plant: PlantedFaultTests.Plant) async throws {
    let replay = try await VerifiedReplay(Self.input, Self.options)
    try await plant.check(replay)
  }
}
