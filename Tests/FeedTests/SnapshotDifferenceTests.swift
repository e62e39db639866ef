import Oracle
import Testing

@testable import Feed

@Suite struct SnapshotDifferenceTests {
  private func snapshot(_ lists: [[Int]]) throws -> Snapshot {
    var snapshot = Snapshot()
    for (number, list) in lists.enumerated() {
      let section = try SectionIdentifier(validating: "s\(number)")
      try snapshot.appendSections([section])
      try snapshot.appendItems(list.map { try ItemIdentifier(validating: "\($0)") }, toSection: section)
    }
    return snapshot
  }

  /// The length of a longest increasing subsequence, by trying all subsets.
  private func longestIncreasing(_ values: [Int]) -> Int {
    var best = 0
    for mask in (0..<(1 << values.count)).reversed() where mask.nonzeroBitCount > best {
      let subset = values.indices.filter { mask >> $0 & 1 == 1 }.map { values[$0] }
      if subset == subset.sorted() { best = subset.count }
    }
    return best
  }

  @Test(arguments: 0...7)
  func `every order of up to seven items is reached with the fewest moves`(count: Int) throws {
    let old = try snapshot([Array(0..<count)])
    for permutation in Permutations.of(count) {
      let new = try snapshot([permutation])
      let difference = new.difference(from: old)
      #expect(difference.count == difference.items.moves.count, "\(permutation): only moves")
      #expect(difference.count == count - longestIncreasing(permutation), "\(permutation)")
      #expect(try old.applying(difference).hasSameContent(as: new), "\(permutation)")
    }
  }

  @Test(arguments: 0...6)
  func `every order of up to six items in two sections is reached with the fewest moves`(count: Int) throws {
    let oldLists = [Array(0..<count / 2), Array(count / 2..<count)]
    let old = try snapshot(oldLists)
    for permutation in Permutations.of(count) {
      for split in 0...count {
        let lists = [Array(permutation[..<split]), Array(permutation[split...])]
        let new = try snapshot(lists)
        let difference = new.difference(from: old)
        let stay = zip(lists, oldLists).map { new, old in longestIncreasing(new.filter(old.contains)) }
        #expect(difference.count == difference.items.moves.count, "\(lists): only moves")
        #expect(difference.count == count - stay.reduce(0, +), "\(lists)")
        #expect(try old.applying(difference).hasSameContent(as: new), "\(lists)")
      }
    }
  }

  @Test func `every list that a pool of five items allows is reached from every order of three`() throws {
    let targets = try Permutations.ofSubsets(5).map { ($0, try snapshot([$0])) }
    for start in Permutations.of([0, 2, 4]) {
      let old = try snapshot([start])
      for (list, new) in targets {
        let difference = new.difference(from: old)
        let common = list.compactMap(start.firstIndex)
        #expect(difference.items.deletes.count == start.count - common.count, "\(start) to \(list)")
        #expect(difference.items.inserts.count == list.count - common.count, "\(start) to \(list)")
        #expect(
          difference.items.moves.count == common.count - longestIncreasing(common),
          "\(start) to \(list)"
        )
        #expect(try old.applying(difference).hasSameContent(as: new), "\(start) to \(list)")
      }
    }
  }

  @Test(arguments: 0...6)
  func `every order of up to six sections is reached with the fewest moves`(count: Int) throws {
    func sections(_ order: [Int]) throws -> Snapshot {
      var snapshot = Snapshot()
      for number in order {
        try snapshot.appendSections([SectionIdentifier(validating: "s\(number)")])
        try snapshot.appendItems([ItemIdentifier(validating: "i\(number)")])
      }
      return snapshot
    }
    let old = try sections(Array(0..<count))
    for permutation in Permutations.of(count) {
      let new = try sections(permutation)
      let difference = new.difference(from: old)
      #expect(difference.items.isEmpty, "\(permutation): items go with their sections")
      #expect(difference.count == count - longestIncreasing(permutation), "\(permutation)")
      #expect(try old.applying(difference).hasSameContent(as: new), "\(permutation)")
    }
  }

  @Test func `a difference has the entries of the protocol`() throws {
    var old = Snapshot()
    try old.appendSections(["gone", "one", "two"])
    try old.appendItems(["lost", "saved"], toSection: "gone")
    try old.appendItems(["a", "b", "c", "d"], toSection: "one")
    var new = old
    try new.moveItem("saved", afterItem: "d")
    new.deleteSections(["gone"])
    try new.insertSections(["new"], beforeSection: "one")
    try new.setData(JSONData(validating: "[ 1 ]"), ofSection: "two")
    new.deleteItems(["a"])
    try new.setKind("ad", ofItem: "b")
    try new.setData(JSONData(validating: "2"), ofItem: "c")
    try new.appendItems([Snapshot.Item("e", kind: "story")], toSection: "new")
    try new.reconfigureItems(["d", "e"])
    try new.reloadSections(["one"])

    let one = JSONData.null
    var expected = SnapshotDifference()
    expected.sections.deletes = [.init(id: "gone", position: 0)]
    expected.sections.inserts = [.init(id: "new", position: 0, data: .null)]
    expected.sections.reconfigures = [.init(id: "two", position: 2, data: try JSONData(validating: "[1]"))]
    expected.sections.reloads = [.init(id: "one", position: 1, data: one)]
    expected.items.deletes = [.init(id: "a", position: .init(section: "one", index: 0))]
    expected.items.inserts = [
      .init(id: "e", position: .init(section: "new", index: 0), kind: "story", data: .null)
    ]
    expected.items.moves = [
      .init(
        id: "saved",
        from: .init(section: "gone", index: 1),
        to: .init(section: "one", index: 3)
      )
    ]
    expected.items.reconfigures = [
      .init(id: "c", position: .init(section: "one", index: 1), data: try JSONData(validating: "2")),
      .init(id: "d", position: .init(section: "one", index: 2), data: .null),
    ]
    expected.items.reloads = [
      .init(id: "b", position: .init(section: "one", index: 0), kind: "ad", data: .null)
    ]
    #expect(new.difference(from: old) == expected)
    #expect(expected.count == 10)
  }

  @Test func `the same two snapshots give the same difference, whatever led to them`() throws {
    let old = try snapshot([[0, 1, 2, 3, 4, 5], [6, 7]])
    var edited = old
    try edited.moveItem("5", beforeItem: "0")
    try edited.moveItem("0", afterItem: "7")
    try edited.moveItem("2", afterItem: "3")
    let built = try snapshot([[5, 1, 3, 2, 4], [6, 7, 0]])
    #expect(edited.difference(from: old) == built.difference(from: old))
    #expect(built.difference(from: edited).isEmpty)
    #expect(edited.difference(from: edited).isEmpty)
  }

  @Test func `items whose texts joined are the same differ`() throws {
    func snapshot(_ id: ItemIdentifier, _ kind: ItemKind, _ data: String) throws -> Snapshot {
      var snapshot = Snapshot()
      try snapshot.appendSections(["s"])
      try snapshot.appendItems([Snapshot.Item(id, kind: kind, data: JSONData(validating: data))])
      return snapshot
    }
    let first = try snapshot("ab", "c", "11")
    #expect(try snapshot("ab", "c", "11").difference(from: first).isEmpty)
    #expect(try snapshot("a", "bc", "11").difference(from: first).items.inserts.count == 1)
    #expect(try snapshot("ab", "c1", "1").difference(from: first).items.reloads.count == 1)
    #expect(try snapshot("ab", "c", "12").difference(from: first).items.reconfigures.count == 1)
  }

  @Test func `marks alone make a difference, and the other snapshot's marks do not count`() throws {
    var old = try snapshot([[0, 1], [2]])
    var new = old
    try old.reloadItems(["0"])
    try new.reloadItems(["2"])
    try new.reconfigureItems(["1"])
    let difference = new.difference(from: old)
    #expect(difference.items.reloads.map(\.id) == ["2"])
    #expect(difference.items.reconfigures.map(\.id) == ["1"])
    #expect(new.difference(from: new) == difference)
    #expect(difference.count == 2)
    #expect(new.hasSameContent(as: old))
    let result = try old.applying(difference)
    #expect(result.reloadedItemIdentifiers.isEmpty)
    #expect(result.reconfiguredItemIdentifiers.isEmpty)
  }
}
