import Changesets
import Kafka
import Testing

@testable import FeedClient
@testable import Standby

/// The followed partitions when workers take and give up partitions.
struct StandbyPlanTests {
  private static let minute: Int64 = 60_000

  private static func progress(
    _ number: Int32,
    _ position: Int64,
    _ standing: FeedStanding = .upToDate,
    bytes: Int = 10,
    records: Int = 0,
    damage: String? = nil,
    end: Int64? = nil
  ) -> PartitionProgress {
    PartitionProgress(
      number: number,
      position: position,
      standing: standing,
      stateBytes: bytes,
      records: records,
      recordBytes: records * 100,
      damage: damage,
      knownEnd: end
    )
  }

  private static let ends = Watermarks(low: 0, high: 9)

  /// A plan of three partitions, the first of which a worker owns.
  private static func plan(bytes: Int? = 100) -> StandbyPlan {
    var plan = StandbyPlan(servesFeeds: true, standbyBytes: bytes, seed: 3)
    _ = plan.take(0, at: nil, within: ends, now: 0)
    plan.serve([0])
    plan.begin(partitions: 3, at: 0)
    return plan
  }

  @Test func `without standby only the workers' partitions are followed`() {
    var plan = Self.plan(bytes: nil)
    #expect(plan.wanted == [0])
    let news = plan.note([Self.progress(0, 9)], at: 0)
    #expect(news == [])
    // Restored again, from the followed replicas.
    let isUsable = plan.take(0, at: 9, within: Self.ends, now: 5)
    #expect(isUsable)
    plan.giveBack(0, at: 0)
    #expect(plan.wanted == [0])
    plan.serve([])
    #expect(plan.wanted == [])
  }

  @Test func `with standby the others are followed as well, once the first are restored`() {
    var plan = StandbyPlan(servesFeeds: true, standbyBytes: 100, seed: 1)
    _ = plan.take(0, at: nil, within: Self.ends, now: 0)
    #expect(plan.wanted == [])
    plan.serve([0])
    plan.begin(partitions: 3, at: 0)
    #expect(plan.wanted == [0, 1, 2])
    // Not again.
    plan.begin(partitions: 9, at: 0)
    #expect(plan.wanted == [0, 1, 2])
    let reading = plan.note(
      [Self.progress(0, 9), Self.progress(1, 2, .bootstrapping, end: 8), Self.progress(2, 4)],
      at: 1
    )
    #expect(reading == [])
    #expect(plan.status.followed == [2])
    #expect(plan.status.reading == [1])
    #expect(plan.status.lag == 6)
    #expect(plan.status.bytes == 20)
    let read = plan.note([Self.progress(0, 9), Self.progress(1, 8), Self.progress(2, 4)], at: 2)
    #expect(read == [.upToDate(followed: 2, bytes: 20)])
    let again = plan.note([Self.progress(0, 9), Self.progress(1, 9), Self.progress(2, 4)], at: 3)
    #expect(again == [])
  }

  @Test func `what a worker takes over is followed on while it is restored`() {
    var plan = Self.plan()
    _ = plan.note([Self.progress(0, 9), Self.progress(1, 7), Self.progress(2, 5, .bootstrapping)], at: 10)
    let isUsable = plan.take(1, at: 7, within: Self.ends, now: 20)
    #expect(isUsable)
    #expect(plan.wanted == [0, 1, 2])
    plan.serve([0, 1])
    #expect(plan.wanted == [0, 1, 2])
    // Also one that was not read to its end: the restoration has less to read.
    let isUsableInPart = plan.take(2, at: 5, within: Self.ends, now: 20)
    #expect(isUsableInPart)
    #expect(plan.status.warmTakeovers == 2)
    #expect(plan.status.coldTakeovers == 1)
    _ = plan.note([Self.progress(0, 9), Self.progress(1, 7), Self.progress(2, 5)], at: 30)
    #expect(plan.status.followed == [])
    #expect(plan.status.bytes == 0)
    // It counts as another process's again as soon as the worker has given it up.
    plan.giveBack(1, at: 0)
    plan.serve([0])
    #expect(plan.wanted == [0, 1, 2])
    _ = plan.note([Self.progress(0, 9), Self.progress(1, 7), Self.progress(2, 5)], at: 40)
    #expect(plan.status.followed == [1])
    #expect(plan.status.bytes == 10)
  }

  @Test func `what is not followed is read from its beginning, and served afterwards`() {
    var plan = Self.plan()
    let isUsable = plan.take(1, at: nil, within: Self.ends, now: 0)
    #expect(!isUsable)
    // Two would read it at the same time.
    #expect(plan.wanted == [0, 2])
    plan.serve([0, 1])
    #expect(plan.wanted == [0, 1, 2])
  }

  @Test func `what cannot be restored is not served either`() {
    var plan = Self.plan()
    _ = plan.note([Self.progress(0, 9), Self.progress(1, 7)], at: 10)
    _ = plan.take(1, at: 7, within: Self.ends, now: 20)
    #expect(plan.wanted.contains(1))
    plan.stop(1)
    #expect(!plan.wanted.contains(1))
  }

  @Test func `what lies outside of the partition, or is too old, is of no use`() {
    func isUsable(at position: Int64, within ends: Watermarks, now: Int64, read: Int64? = nil) -> Bool {
      var plan = Self.plan()
      _ = plan.note([Self.progress(1, 7)], at: 10)
      if let read { _ = plan.note([Self.progress(1, 7)], at: read) }
      _ = plan.note([Self.progress(1, 8, .catchingUp)], at: 20)
      return plan.take(1, at: position, within: ends, now: now)
    }
    #expect(isUsable(at: 8, within: Watermarks(low: 8, high: 8), now: 20))
    #expect(!isUsable(at: 8, within: Watermarks(low: 0, high: 7), now: 20))
    #expect(!isUsable(at: 8, within: Watermarks(low: 9, high: 9), now: 20))
    #expect(isUsable(at: 8, within: Self.ends, now: 30 * Self.minute + 10))
    #expect(!isUsable(at: 8, within: Self.ends, now: 30 * Self.minute + 11))
    #expect(isUsable(at: 8, within: Self.ends, now: 30 * Self.minute + 11, read: 15))
    // The start of its reading is unknown.
    var plan = Self.plan()
    let isKnown = plan.take(1, at: 8, within: Self.ends, now: 0)
    #expect(!isKnown)
  }

  @Test func `what exceeds the bound is given up, and told once`() {
    var plan = Self.plan(bytes: 100)
    let news = plan.note([Self.progress(0, 9, bytes: 1_000), Self.progress(1, 7, bytes: 60)], at: 0)
    #expect(news == [])
    let more = plan.note([Self.progress(1, 7, bytes: 60), Self.progress(2, 7, bytes: 41)], at: 0)
    #expect(more.first == .tooLarge(2, limit: 100))
    #expect(plan.wanted == [0, 1])
    #expect(plan.status.tooLarge == [2])
    // The follower has no information about it yet.
    let late = plan.note([Self.progress(1, 7, bytes: 60), Self.progress(2, 8, bytes: 50)], at: 10)
    #expect(late == [])
    #expect(plan.status.bytes == 60)
    // There is room, and a minute has passed.
    _ = plan.note([Self.progress(1, 7, bytes: 50)], at: Self.minute)
    #expect(plan.wanted == [0, 1, 2])
    let again = plan.note([Self.progress(1, 7, bytes: 50), Self.progress(2, 8, bytes: 51)], at: Self.minute)
    #expect(!again.contains(.tooLarge(2, limit: 100)))
    #expect(plan.wanted == [0, 1])
  }

  @Test func `a damaged partition is followed no more, until a worker has had it`() {
    var plan = Self.plan()
    let news = plan.note([Self.progress(1, 7, damage: "x"), Self.progress(2, 7)], at: 0)
    #expect(news.first == .damaged(1, reason: "x"))
    #expect(plan.status.damaged == [1])
    #expect(plan.wanted == [0, 2])
    let again = plan.note([Self.progress(1, 7, damage: "x"), Self.progress(2, 7)], at: 1)
    #expect(again == [])
    // Workers' partitions are served even if they are damaged.
    _ = plan.note([Self.progress(0, 7, damage: "x")], at: 0)
    #expect(plan.wanted == [0, 2])
    _ = plan.take(1, at: nil, within: Self.ends, now: 0)
    plan.giveBack(1, at: 0)
    _ = plan.note([Self.progress(0, 7), Self.progress(2, 7)], at: 0)
    #expect(plan.wanted == [0, 1, 2])
  }

  @Test func `records that were read of others' partitions are counted`() {
    var plan = Self.plan()
    _ = plan.note([Self.progress(0, 9, records: 5), Self.progress(1, 3, records: 3)], at: 0)
    #expect(plan.status.records == 3)
    _ = plan.note([Self.progress(0, 9, records: 9), Self.progress(1, 5, records: 5)], at: 0)
    #expect(plan.status.records == 5)
    #expect(plan.status.recordBytes == 500)
    // Read from its beginning again.
    _ = plan.note([Self.progress(1, 1, records: 1)], at: 0)
    #expect(plan.status.records == 5)
    _ = plan.take(1, at: 1, within: Self.ends, now: 0)
    _ = plan.note([Self.progress(1, 3, records: 3)], at: 0)
    #expect(plan.status.records == 5)
  }

  @Test func `after a failure everything is read from the beginning, a few at a time`() {
    var plan = Self.plan()
    _ = plan.note([Self.progress(0, 9), Self.progress(1, 7), Self.progress(2, 7)], at: 0)
    _ = plan.take(1, at: 7, within: Self.ends, now: 0)
    plan.reset()
    // A worker restores the first, and the other is about to be read again.
    #expect(plan.wanted == [0])
    #expect(plan.status.reading == [2])
    let isUsable = plan.take(0, at: nil, within: Self.ends, now: 0)
    #expect(!isUsable)
    _ = plan.note([Self.progress(0, 9, .bootstrapping)], at: 0)
    #expect(plan.wanted == [0, 2])
  }

  @Test func `without served feeds, partitions are handed over and back`() {
    var plan = StandbyPlan(servesFeeds: false, standbyBytes: 100, seed: 0)
    _ = plan.take(0, at: nil, within: Self.ends, now: 0)
    plan.begin(partitions: 2, at: 0)
    #expect(plan.wanted == [1])
    _ = plan.note([Self.progress(1, 7, records: 7)], at: 10)
    let isUsable = plan.take(1, at: 7, within: Self.ends, now: 20)
    #expect(isUsable)
    #expect(plan.wanted == [])
    // The size is known, so the partition is followed at once, and can be taken again before it is read.
    plan.giveBack(1, bytes: 10, at: 30)
    #expect(plan.wanted == [1])
    let isUsableAgain = plan.take(1, at: 9, within: Self.ends, now: 40)
    #expect(isUsableAgain)
    // Without its state, it is read from its beginning.
    plan.giveBack(1, at: 50)
    #expect(plan.wanted == [])
    let news = plan.note([], at: 60)
    #expect(news == [])
    #expect(plan.wanted == [1])
  }

  @Test func `a partition whose topic was recreated is reported`() {
    var plan = Self.plan()
    _ = plan.note([Self.progress(1, 7, records: 7)], at: 0)
    let news = plan.note([Self.progress(1, 2, .catchingUp, records: 2)], at: 10)
    #expect(news == [.restarted(1, position: 7)])
  }
}

struct FollowPauseTests {
  @Test func `pauses double up to a minute, and start over after feeds were followed longer than that`() {
    var pause = FollowPause()
    let pauses = (0..<9).map { pause.seconds(afterFollowing: $0 == 8 ? 60_000 : 0) }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    #expect(pause.seconds(afterFollowing: 60_001) == 1)
    #expect(pause.seconds(afterFollowing: 0) == 2)
  }
}
