import Testing

@testable import Feed
@testable import FeedClient
@testable import FeedHTTP

/// What an update means for the readers of a feed.
struct StreamStepTests {
  private static func description(
    partition: Int32 = 1,
    _ standing: FeedStanding = .upToDate
  ) -> FeedDescription {
    .made(of: "f", partition: partition, revision: 7, standing)
  }

  private static func present(partition: Int32) -> FeedUpdate {
    .present(FeedContent(description: description(partition: partition), snapshot: Snapshot()), passedOver: 0)
  }

  /// The step as text.
  private static func text(_ update: FeedUpdate, current: FeedDescription?) -> String {
    switch StreamStep(update, current: current) {
    case .changeset(let changeset): "changeset \(changeset.version.text)"
    case .jump(let version, let position): "jump to \(version.text) before \(position)"
    case .notice: "notice"
    case .deletion(let changeset, let reborn): "deletion \(changeset.version.text), now \(reborn ?? "gone")"
    case .forget: "forget"
    case .end: "end"
    case .pass: "pass"
    }
  }

  @Test(arguments: [(0, "pass"), (1, "jump to e/1@7 before 8"), (2, "jump to e/1@7 before 8")])
  func `if two feeds have the same id, the lower partition's is served`(_ served: Int32, _ step: String) {
    #expect(Self.text(Self.present(partition: 1), current: Self.description(partition: served)) == step)
    #expect(Self.text(Self.present(partition: 1), current: nil) == "jump to e/1@7 before 8")
  }

  @Test(arguments: [(0, "pass"), (1, "changeset e/1@8"), (2, "changeset e/1@8")])
  func `a changeset of the other partition is ignored`(_ served: Int32, _ step: String) {
    let change = ReplicaChange(
      feed: "f",
      epoch: "e/1",
      revision: 8,
      base: 7,
      mode: .reload,
      reason: nil,
      time: "",
      counts: PublicationOutcome.EntryCounts(),
      difference: nil,
      byteCount: 2
    )
    let changeset = FeedChangeset(change: change, values: [Array("{}".utf8)], partition: 1, offset: 9)
    #expect(Self.text(.changed(changeset, nil), current: Self.description(partition: served)) == step)
  }

  @Test func `a loss is reported, unless the feed's reload has arrived meanwhile`() {
    let update = FeedUpdate.mustRefetch(feed: "f", reason: "gap")
    #expect(Self.text(update, current: Self.description(.mustRefetch)) == "notice")
    #expect(Self.text(update, current: nil) == "notice")
    #expect(Self.text(update, current: Self.description()) == "forget")
  }

  @Test func `a deletion has a version, and the epoch of the feed that exists now`() {
    let value = #"{"feed":"f","epoch":"e/0","revision":4,"base":3,"mode":"delete"}"#
    let update = FeedUpdate.absent(feed: "f", changeset: Array(value.utf8))
    #expect(Self.text(update, current: nil) == "deletion e/0@4, now gone")
    #expect(Self.text(update, current: Self.description()) == "deletion e/0@4, now e/1")
  }

  @Test func `a feed that is gone without a deletion ends its streams`() {
    #expect(Self.text(.absent(feed: "f", changeset: nil), current: nil) == "end")
    #expect(Self.text(.absent(feed: "f", changeset: nil), current: Self.description()) == "end")
  }
}
