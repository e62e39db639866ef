import Testing

@testable import Feed
@testable import FeedClient
@testable import FeedHTTP

/// The effect of an update on the readers of a feed.
struct StreamStepTests {
  private static func description(_ standing: FeedStanding = .upToDate) -> FeedDescription {
    .made(of: "f", partition: 1, revision: 7, standing)
  }

  /// The step as text.
  private static func text(_ update: FeedUpdate, current: FeedDescription?) -> String {
    switch StreamStep(update, current: current) {
    case .changeset(let changeset, _): "changeset \(changeset.version.text)"
    case .jump(let version, let position): "jump to \(version.text) before \(position)"
    case .notice: "notice"
    case .deletion(let changeset, let reborn): "deletion \(changeset.version.text), now \(reborn ?? "gone")"
    case .forget: "forget"
    case .end: "end"
    }
  }

  @Test func `a loss is reported, unless the feed's reload has arrived meanwhile`() {
    let update = FeedUpdate.mustRefetch(feed: "f", partition: 1, reason: "gap")
    #expect(Self.text(update, current: Self.description(.mustRefetch)) == "notice")
    #expect(Self.text(update, current: nil) == "notice")
    #expect(Self.text(update, current: Self.description()) == "forget")
  }

  @Test func `a deletion has a version, and the epoch of the feed that exists now`() {
    let change = ReplicaChange(
      feed: "f",
      epochBytes: Array("e/0".utf8),
      revision: 4,
      base: 3,
      mode: .delete,
      reason: nil,
      timeMilliseconds: 0,
      foreignTime: nil,
      counts: .init(),
      difference: nil,
      byteCount: 0
    )
    let changeset = FeedChangeset(change: change, values: [], partition: 1, offset: 9)
    let update = FeedUpdate.absent(feed: "f", partition: 1, changeset: changeset)
    #expect(Self.text(update, current: nil) == "deletion e/0@4, now gone")
    #expect(Self.text(update, current: Self.description()) == "deletion e/0@4, now e/1")
  }

  @Test func `a feed that is gone without a deletion ends its streams`() {
    #expect(Self.text(.absent(feed: "f", partition: 1, changeset: nil), current: nil) == "end")
    #expect(Self.text(.absent(feed: "f", partition: 1, changeset: nil), current: Self.description()) == "end")
  }
}
