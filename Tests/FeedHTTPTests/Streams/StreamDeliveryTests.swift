import Feed
import Testing

@testable import FeedClient
@testable import FeedHTTP
@testable import HTTP

/// The messages for a feed's readers, step by step, without a client or HTTP.
struct StreamDeliveryTests {
  private static let feed = FeedAddress(0, ByteText("f"))
  private static let view = ViewAddress(feed)
  private var delivery = StreamDelivery(maxHistoryBytes: 100_000)
  private let queue = ReaderQueue()

  private static func version(_ revision: UInt64) -> FeedVersion {
    FeedVersion(epoch: "e/1", revision: revision)
  }

  /// A changeset of revision `n` at the offset `n`.
  private static func changeset(_ revision: UInt64, text: String? = nil) -> StreamStep {
    .changeset(.made(revision, texts: text.map { [$0] }))
  }

  private static func state(_ revision: UInt64) -> ReloadCache.Current {
    ReloadCache.Current(
      reload: FeedReload(version(revision), Array("state \(revision)".utf8), ReloadLedger(limit: .max)),
      position: Int64(revision) + 1
    )
  }

  /// The client's description of the feed.
  private static func description(
    _ revision: UInt64,
    _ standing: FeedStanding = .upToDate
  ) -> FeedDescription {
    .made(of: feed.id.string, revision: revision, standing)
  }

  private static func notice(_ text: String) -> StreamStep {
    .notice(EncodedEvent(data: Array(text.utf8)))
  }

  private static func deletion(_ revision: UInt64, reborn: String? = nil) -> StreamStep {
    .deletion(.made(revision, isDeletion: true, texts: ["deletion \(revision)"]), reborn: reborn)
  }

  private mutating func add(
    after revision: UInt64? = nil,
    current: FeedDescription?,
    _ queue: ReaderQueue? = nil
  ) -> (number: Int, isLagging: Bool) {
    let number = delivery.open((queue ?? self.queue).stream)
    delivery.follow(FeedRequest(feed: Self.feed.id), on: number)
    let version = revision.map { Self.version($0) }
    if let (id, view) = delivery.begin(ViewID(Self.feed.id), on: number, at: Self.feed, after: version) {
      delivery.start(id, of: view, Self.standing(current))
    }
    return (number, delivery.streams[number]?.isLagging == true)
  }

  private static func standing(_ description: FeedDescription?) -> ViewStanding? {
    description.map { ViewStanding(description: $0, since: $0.revision) }
  }

  private mutating func take(_ step: StreamStep) -> [Int] { delivery.take(step, of: Self.feed).sorted() }

  private mutating func send(
    _ state: ReloadCache.Current,
    after breaks: Int = 0,
    to number: Int,
    current: FeedDescription?
  ) -> StreamDelivery.Sending {
    delivery.send(state, after: breaks, to: ReaderID(stream: number), of: Self.view, current: current)
  }

  private mutating func sendUpToDate(
    _ description: FeedDescription?,
    standing: FeedStanding = .upToDate
  ) {
    let standings = delivery.awaitingViews(of: Self.feed).map { ($0, Self.standing(description)) }
    delivery.sendUpToDate(Self.feed, standing: standing, standings)
  }

  // MARK: Start

  @Test mutating func `a reader without a version gets the state, and then later changesets`() {
    let (number, isLagging) = add(current: Self.description(1))
    #expect(isLagging)
    #expect(queue.drain() == [])
    #expect(send(Self.state(1), to: number, current: Self.description(1)) == .sent)
    #expect(queue.drain() == ["state 1"])
    #expect(take(Self.changeset(2)) == [])
    #expect(queue.drain() == ["2"])
    // A changeset is missing.
    #expect(take(Self.changeset(4)) == [number])
    #expect(queue.drain() == [])
  }

  @Test mutating func `a state is sent with the changesets that arrived meanwhile`() {
    let (number, _) = add(current: Self.description(1))
    // It already lags, and is not returned again.
    for revision in 1...3 as ClosedRange<UInt64> { #expect(take(Self.changeset(revision)) == []) }
    #expect(queue.drain() == [])
    #expect(send(Self.state(1), to: number, current: Self.description(3)) == .sent)
    #expect(queue.drain() == ["state 1", "2", "3"])
    #expect(take(Self.changeset(4)) == [])
    #expect(queue.drain() == ["4"])
  }

  @Test mutating func `a reader that reconnects gets the changesets that it missed`() {
    // They are kept even without readers.
    for revision in 1...3 as ClosedRange<UInt64> { #expect(take(Self.changeset(revision)) == []) }
    let (_, isLagging) = add(after: 1, current: Self.description(3))
    #expect(!isLagging)
    #expect(queue.drain() == ["2", "3"])
    #expect(take(Self.changeset(4)) == [])
    #expect(queue.drain() == ["4"])
  }

  @Test mutating func `a reader that has the current version waits for the next changeset`() {
    #expect(!add(after: 5, current: Self.description(5)).isLagging)
    #expect(take(Self.changeset(5)) == [])
    #expect(queue.drain() == [])
    #expect(take(Self.changeset(6)) == [])
    #expect(queue.drain() == ["6"])
  }

  @Test(arguments: [FeedStanding.mustRefetch, .bootstrapping])
  mutating func `a reader's version is not used while the feed's state is not known`(_ standing: FeedStanding)
  {
    #expect(add(after: 5, current: Self.description(5, standing)).isLagging)
  }

  @Test mutating func `a reader that was told that the feed is elsewhere gets a reload, whatever it had`() {
    let number = delivery.open(queue.stream, id: "s")
    let version = Self.version(5)
    delivery.follow(FeedRequest(feed: Self.feed.id, version: version), on: number)
    let place = ViewID(Self.feed.id)
    #expect(delivery.waitingView(place, on: number)?.request.version == version)
    delivery.tell(StreamNotice.absent(Self.feed.id), of: place, on: number)
    #expect(delivery.waitingView(place, on: number)?.request.version == nil)
  }

  @Test mutating func `a version that is not in the history is not used`() {
    #expect(add(after: 4, current: Self.description(5)).isLagging)
    #expect(add(after: 5, current: nil).isLagging)
  }

  // MARK: Lagging

  @Test mutating func `a reader whose queue is full lags once, and gets the state`() {
    let small = ReaderQueue(limit: 100)
    let (number, _) = add(after: 1, current: Self.description(1), small)
    let (other, _) = add(after: 1, current: Self.description(1))
    let long = String(repeating: "x", count: 80)
    #expect(take(Self.changeset(2, text: long)) == [])
    #expect(take(Self.changeset(3)) == [number])
    #expect(take(Self.changeset(4)) == [])
    #expect(queue.drain() == [long, "3", "4"])
    #expect(small.drain() == [long])
    #expect(send(Self.state(4), to: number, current: Self.description(4)) == .sent)
    #expect(small.drain() == ["state 4"])
    // It receives no second one.
    #expect(send(Self.state(4), to: number, current: Self.description(4)) == .sent)
    #expect(send(Self.state(4), to: other, current: Self.description(4)) == .sent)
    #expect(small.drain() == [] && queue.drain() == [])
  }

  @Test
  mutating func `changesets that were not delivered individually make readers lag that do not have them`() {
    let (behind, _) = add(after: 1, current: Self.description(1), ReaderQueue())
    #expect(!add(after: 4, current: Self.description(4)).isLagging)
    #expect(take(.jump(Self.version(4), position: 5)) == [behind])
    #expect(take(Self.changeset(5)) == [])
    #expect(queue.drain() == ["5"])
    // The earlier changesets are unknown.
    #expect(add(after: 2, current: Self.description(5)).isLagging)
  }

  @Test mutating func `a state from before the feed was lost is not sent`() {
    let (number, _) = add(current: Self.description(2))
    #expect(delivery.breaks(of: Self.feed) == 0)
    #expect(take(.forget) == [])
    #expect(delivery.breaks(of: Self.feed) == 1)
    #expect(send(Self.state(2), to: number, current: Self.description(2)) == .isOld)
    #expect(send(Self.state(2), after: 1, to: number, current: Self.description(2)) == .sent)
    #expect(queue.drain() == ["state 2"])
  }

  @Test mutating func `a state is not sent if the changesets after it are not known`() {
    let (number, _) = add(current: Self.description(1))
    #expect(take(.jump(Self.version(4), position: 5)) == [])
    #expect(send(Self.state(1), to: number, current: Self.description(4)) == .isOld)
    #expect(send(Self.state(4), to: number, current: Self.description(4)) == .sent)
    #expect(queue.drain() == ["state 4"])
  }

  @Test mutating func `a reader of a feed that must be refetched is told so, and gets its reload`() {
    let (number, _) = add(current: Self.description(1))
    #expect(send(Self.state(1), to: number, current: Self.description(1, .mustRefetch)) == .sent)
    let told = queue.drain()
    #expect(told.count == 1 && told[0].hasPrefix("must-refetch "))
    #expect(take(.changeset(.made(8, isReload: true, texts: ["reload 8"]))) == [])
    #expect(queue.drain() == ["reload 8"])
  }

  @Test mutating func `a feed that is gone or has not been read yet has no state to send`() {
    let (number, _) = add(current: nil)
    #expect(send(Self.state(1), to: number, current: nil) == .isGone)
    #expect(send(Self.state(1), to: number, current: Self.description(1, .bootstrapping)) == .isGone)
    #expect(queue.drain() == [])
  }

  // MARK: Notices and ends

  @Test mutating func `a notice is sent to all readers, and earlier changesets are dropped`() {
    _ = take(Self.changeset(1))
    #expect(!add(after: 1, current: Self.description(1)).isLagging)
    #expect(take(Self.notice("lost")) == [])
    #expect(queue.drain() == ["lost"])
    #expect(add(after: 1, current: Self.description(2)).isLagging)
  }

  @Test mutating func `a deletion is not sent to readers of a later epoch`() {
    let (_, isLagging) = add(after: 1, current: Self.description(1))
    #expect(!isLagging)
    #expect(take(Self.deletion(2, reborn: "e/1")) == [])
    #expect(queue.drain() == [])
    #expect(take(Self.deletion(2, reborn: "e/2")) == [])
    #expect(queue.drain() == ["deletion 2"])
  }

  @Test mutating func `after a deletion readers are up to date, and one that reconnects receives it`() {
    _ = add(after: 1, current: Self.description(1))
    // The client no longer has the feed, and the deletion is not delivered yet.
    sendUpToDate(nil)
    #expect(queue.drain() == [])
    #expect(!delivery.hasDeletion(of: Self.feed, after: Self.version(1)))
    #expect(take(Self.deletion(2)) == [])
    sendUpToDate(nil, standing: .catchingUp)
    #expect(queue.drain().count == 1 && delivery.awaitingNotice == [Self.feed])
    sendUpToDate(nil)
    let notice = #"up-to-date {"feed":"f","epoch":"e/1","revision":2}"#
    #expect(queue.drain() == [notice] && delivery.awaitingNotice.isEmpty)
    for (revision, count) in [(1, 2), (2, 1)] as [(UInt64, Int)] {
      let other = ReaderQueue()
      #expect(delivery.hasDeletion(of: Self.feed, after: Self.version(revision)))
      #expect(!add(after: revision, current: nil, other).isLagging)
      sendUpToDate(nil)
      let told = other.drain()
      #expect(told.count == count && told.last == notice)
    }
    // A reader with another version receives a notice that the feed does not exist.
    #expect(!delivery.hasDeletion(of: Self.feed, after: Self.version(7)))
    // The feed is created again.
    let reload = StreamedChangeset.made(1, epoch: "e/2", isReload: true, offset: 9, texts: ["reload"])
    #expect(take(.changeset(reload)) == [])
    #expect(queue.drain() == ["reload"])
    #expect(!delivery.hasDeletion(of: Self.feed, after: Self.version(2)))
  }

  @Test mutating func `all streams of a feed end together, and it has no readers then`() {
    _ = add(current: nil)
    _ = add(current: nil, ReaderQueue())
    #expect(delivery.isRead(Self.feed))
    #expect(delivery.reset() == [Self.feed])
    #expect(delivery.end(Self.feed, telling: nil).count == 2)
    #expect(!delivery.isRead(Self.feed) && delivery.breaks(of: Self.feed) == nil)
    #expect(delivery.end(Self.feed, telling: nil).isEmpty)
  }

  @Test mutating func `a feed has no readers after the last one has disconnected`() {
    let (first, _) = add(current: nil)
    let (second, _) = add(current: nil, ReaderQueue())
    #expect(first != second)
    #expect(delivery.close(first).map(\.feed) == [Self.feed.id])
    #expect(delivery.isRead(Self.feed))
    _ = delivery.close(second)
    #expect(!delivery.isRead(Self.feed))
    #expect(take(Self.changeset(1)) == [])
    #expect(delivery.viewCount == 0)
  }

  // MARK: Up to date

  @Test mutating func `readers are told once that they are up to date`() {
    _ = add(after: 1, current: Self.description(1))
    sendUpToDate(Self.description(1, .catchingUp))
    #expect(queue.drain() == [] && delivery.awaitingNotice == [Self.feed])
    // The client has more changesets than were delivered.
    sendUpToDate(Self.description(2))
    #expect(queue.drain() == [] && delivery.awaitingNotice == [Self.feed])
    #expect(take(Self.changeset(2)) == [])
    sendUpToDate(Self.description(2))
    #expect(queue.drain() == ["2", #"up-to-date {"feed":"f","partition":0,"epoch":"e/1","revision":2}"#])
    #expect(delivery.awaitingNotice.isEmpty)
    sendUpToDate(Self.description(2))
    #expect(queue.drain() == [])
    // A changeset keeps them up to date, without a notice.
    #expect(take(Self.changeset(3)) == [])
    #expect(delivery.awaitingNotice.isEmpty)
    sendUpToDate(Self.description(3))
    #expect(queue.drain() == ["3"])
    #expect(take(.changeset(.made(4, isReload: true))) == [])
    sendUpToDate(Self.description(4))
    #expect(queue.drain() == ["4", #"up-to-date {"feed":"f","partition":0,"epoch":"e/1","revision":4}"#])
  }

  @Test mutating func `no up-to-date message is sent for an unknown feed or one without readers`() {
    _ = add(after: 1, current: Self.description(1))
    sendUpToDate(Self.description(1, .mustRefetch))
    #expect(delivery.awaitingNotice.isEmpty && queue.drain() == [])
  }

  @Test mutating func `a reader with a full queue is told as well, and then lags`() {
    let small = ReaderQueue(limit: 100)
    let (number, _) = add(after: 1, current: Self.description(1), small)
    #expect(take(Self.changeset(2, text: String(repeating: "x", count: 60))) == [])
    sendUpToDate(Self.description(2))
    #expect(take(Self.changeset(3)) == [number])
    let told = small.drain()
    #expect(told.count == 2 && told[1].hasPrefix("up-to-date "))
  }
}
