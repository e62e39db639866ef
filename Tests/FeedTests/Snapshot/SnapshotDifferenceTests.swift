import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct SnapshotDifferenceTests {
  /// The sections before the difference: `gone`, `one` and `two`.
  private func before() -> FeedState {
    let sample = SampleState()
    let gone = sample.addSection("gone")
    for item in ["lost", "saved"] { sample.addItem(item, to: gone) }
    let one = sample.addSection("one")
    for item in ["a", "b", "c", "d"] { sample.addItem(item, to: one) }
    _ = sample.addSection("two")
    sample.state.confirm()
    return sample.state
  }

  private func after() -> FeedState {
    let sample = SampleState()
    let new = sample.addSection("new")
    withSpan(#"[{"by":"","direction":"descending"}]"#) { order in
      sample.state.setSettings(new, ElementFields(order: order, keep: NumberField(3)))
    }
    sample.addItem("e", to: new, kind: "story")
    let one = sample.addSection("one")
    for (item, kind, data) in [("b", "ad", "null"), ("c", "", "2"), ("d", "", "null"), ("saved", "", "null")]
    {
      sample.addItem(item, to: one, kind: kind, data: data)
    }
    _ = sample.addSection("two", data: "[1]")
    sample.state.confirm()
    return sample.state
  }

  private static let lists = #"""
    "sections":{"delete":[{"id":"gone","index":0}],\#
    "insert":[{"id":"new","index":0,"data":null,"order":[{"by":"","direction":"descending"}],"keep":3}],\#
    "reconfigure":[{"id":"two","index":2,"data":[1]}],"reload":[{"id":"one","index":1,"data":null}]},\#
    "items":{"delete":[{"id":"a","section":"one","index":0}],\#
    "insert":[{"id":"e","section":"new","index":0,"kind":"story","data":null}],\#
    "move":[{"id":"saved","from":{"section":"gone","index":1},"to":{"section":"one","index":3}}],\#
    "reconfigure":[{"id":"c","section":"one","index":1,"data":2},{"id":"d","section":"one","index":2,"data":null}],\#
    "reload":[{"id":"b","section":"one","index":0,"kind":"ad","data":null}]}
    """#

  private func expected() -> SnapshotDifference {
    func data(_ text: String) -> JSONData { withSpan(text) { JSONData(checked: $0) } }
    func one(_ index: Int) -> ItemPosition { ItemPosition(section: "one", index: index) }
    var expected = SnapshotDifference()
    expected.sections.deletes = [.init(id: "gone", position: 0)]
    expected.sections.inserts = [
      .init(
        id: "new",
        position: 0,
        data: .null,
        order: data(#"[{"by":"","direction":"descending"}]"#),
        keep: 3
      )
    ]
    expected.sections.reconfigures = [.init(id: "two", position: 2, data: data("[1]"))]
    expected.sections.reloads = [.init(id: "one", position: 1, data: .null)]
    expected.items.deletes = [.init(id: "a", position: one(0))]
    expected.items.inserts = [
      .init(id: "e", position: ItemPosition(section: "new", index: 0), kind: "story", data: .null)
    ]
    expected.items.moves = [
      .init(id: "saved", from: ItemPosition(section: "gone", index: 1), to: one(3))
    ]
    expected.items.reconfigures = [
      .init(id: "c", position: one(1), data: data("2")), .init(id: "d", position: one(2), data: .null),
    ]
    expected.items.reloads = [.init(id: "b", position: one(0), kind: "ad", data: .null)]
    return expected
  }

  @Test func `a difference has the entries of its changeset, and turns one state into the other`() throws {
    let version = PublishedVersion(epoch: Array("t/0".utf8), revision: 1, through: [])
    let reload = Snapshot(copying: before()).reload(of: "f", version: version, timeMilliseconds: 0)
    let checksum = Replica.hexadecimal(after().totals.checksum)
    let delta =
      #"{"feed":"f","epoch":"t/0","revision":2,"base":1,"mode":"diff","time":"2026-01-01T00:00:00.000Z","#
      + #""through":{},"checksum":"\#(checksum)",\#(Self.lists)}"#
    let replicas = ReplicaPartition()
    _ = try withSpan("k0/f") { key in try withSpan(reload) { try replicas.apply(key: key, value: $0) } }
    var snapshot = try #require(replicas.replica(of: "f")).snapshot()
    let outcome = try withSpan("d1/f") { key in
      try withSpan(delta) { try replicas.apply(key: key, value: $0) }
    }
    guard case .applied(let change) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    let difference = try #require(change.difference)
    #expect(difference == expected())
    #expect(difference.count == 10)
    #expect(snapshot.hasSameContent(as: Snapshot(copying: before())))
    try snapshot.apply(difference)
    snapshot.checkInvariants()
    #expect(snapshot.hasSameContent(as: Snapshot(copying: after())))
    #expect(try #require(replicas.replica(of: "f")).snapshot().hasSameContent(as: snapshot))
  }
}
