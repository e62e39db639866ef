import Testing

@testable import Spelling

@Suite struct NearestNameTests {
  @Test(arguments: [
    ("", "", 0), ("abc", "abc", 0), ("abc", "", 3), ("", "abc", 3), ("abc", "abd", 1), ("abc", "acb", 1),
    ("abc", "ab", 1), ("kitten", "sitting", 3), ("ca", "abc", 3),
  ])
  func `the distance is the number of edits`(_ first: String, _ second: String, distance: Int) {
    #expect(NearestName.editDistance(Array(first), Array(second)) == distance)
  }

  @Test func `the nearest candidate wins`() {
    #expect(NearestName.suggestion(for: "--outptu", among: ["--output", "--input"]) == "--output")
    #expect(NearestName.suggestion(for: "MAXITEMS", among: ["maxItems", "maxIdBytes"]) == "maxItems")
    #expect(NearestName.suggestion(for: "ab", among: ["ac", "aa"]) == "aa")
  }

  @Test func `a distant name is not suggested`() {
    #expect(NearestName.suggestion(for: "zebra", among: ["coalesce.window"]) == nil)
    #expect(NearestName.suggestion(for: "x", among: ["y"]) == nil)
    #expect(NearestName.suggestion(for: "x", among: []) == nil)
  }

  @Test func `a name of any length takes no time`() {
    let long = String(repeating: "output", count: 100_000)
    #expect(NearestName.suggestion(for: long, among: (0..<1_000).map { "output\($0)" }) == nil)
    let longest = String(repeating: "a", count: 64)
    #expect(NearestName.suggestion(for: longest, among: [longest + "b"]) == longest + "b")
    #expect(NearestName.suggestion(for: longest + "a", among: [longest]) == nil)
  }
}
