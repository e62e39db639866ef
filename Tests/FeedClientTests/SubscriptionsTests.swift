import ChangesetTestSupport
import Feed
import FeedChecks
import Queues
import Testing

@testable import FeedClient

/// The updates of subscribers, record by record, without a broker.
struct SubscriptionsTests {
  private let source = ChangesetSource()
  private let board = Subscriptions.opened(bootstrapped: false)

  private func next(_ count: Int, _ iterator: inout FeedUpdates.Iterator) async throws -> [FeedUpdate] {
    var updates: [FeedUpdate] = []
    while updates.count < count, let update = try await iterator.next() { updates.append(update) }
    return updates
  }

  @Test func `a subscriber receives the state at the end of the partition, and then each changeset`()
    async throws
  {
    var iterator = board.updates().makeAsyncIterator()
    board.take(try await source.flush(("a", ChangesetSource.item("x")), ("b", ChangesetSource.item("x"))))
    board.take(try await source.flush(("a", ChangesetSource.item("y"))))
    #expect(board.standing == .bootstrapping)
    board.endPartition()
    #expect(board.standing == .upToDate)
    #expect(try await next(2, &iterator).map(\.summary) == ["a present 2", "b present 1"])

    let records = try await source.flush(("a", ChangesetSource.item("x", 1)), ("b", nil))
    board.take(records)
    board.updateStanding()
    #expect(board.standing == .catchingUp)
    let updates = try await next(2, &iterator)
    #expect(updates.map(\.summary) == ["a reconfigure 3", "b absent"])
    guard case .changed(let changeset, let snapshot?) = updates[0] else {
      Issue.record("a change with its snapshot, and not \(updates[0])")
      return
    }
    #expect(changeset.values == [records[0].value])
    #expect(changeset.change.difference?.items.reconfigures.map(\.id) == ["x"])
    #expect(snapshot.itemIdentifiers == ["x", "y"])
    #expect(snapshot.data(ofItem: "x")?.description == "{\"n\":1,\"p\":\"\"}")
    #expect(snapshot.checksum == board.content(of: ByteText("a"))?.description.checksum)
    guard case .absent(_, _, let deletion?) = updates[1] else {
      Issue.record("a deletion with its changeset")
      return
    }
    #expect(deletion.values == [records[1].value] && deletion.change.mode == .delete)
  }

  @Test func `a subscriber with a window receives what is shown in it`() async throws {
    board.take(try await source.flush(("a", ChangesetSource.item("x")), ("a", ChangesetSource.item("y"))))
    board.endPartition()
    let window = FeedWindow(sections: ["s"], extent: .first(2))
    var iterator: FeedUpdates.Iterator? = board.updates(of: ["a"], SubscriptionOptions(window: window))
      .makeAsyncIterator()
    var updates = try await next(1, &iterator!)
    #expect(updates[0].summary == "a present 1")
    #expect(updates[0].snapshot?.itemIdentifiers == ["x", "y"])

    // Beyond the edge, and in another section: nothing is sent. Then an item enters, and pushes one out.
    board.take(try await source.flush(("a", ChangesetSource.item("z"))))
    board.take(
      try await source.flush(("a", "{\"op\":\"item.upsert\",\"item\":\"o\",\"section\":\"t\"}"))
    )
    board.take(
      try await source.flush(("a", "{\"op\":\"item.move\",\"item\":\"z\",\"at\":\"first\"}"))
    )
    updates = try await next(1, &iterator!)
    #expect(updates[0].summary == "a diff 4")
    #expect(updates[0].snapshot?.itemIdentifiers == ["z", "x"])
    guard case .changed(let changeset, _) = updates[0] else {
      Issue.record("a change, and not \(updates[0])")
      return
    }
    #expect(changeset.change.base == 1)
    #expect(changeset.change.counts.inserts == 1 && changeset.change.counts.deletes == 1)
    let view = ViewAddress(FeedAddress(nil, ByteText("a")), window)
    let progress = try #require(board.standing(of: view, withTotals: true))
    let totals = try #require(progress.totals)
    #expect(progress.since == 4 && progress.description.revision == 4)
    #expect(
      String(decoding: totals, as: UTF8.self)
        == #""window":[{"section":"s","from":0,"shown":2,"of":3}]"#
    )
    iterator = nil
    #expect(board.openWindows.isEmpty)
  }

  @Test func `a subscriber with a window receives the state again once the feed is reloaded or re-created`()
    async throws
  {
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    let window = FeedWindow(extent: .first(1))
    var iterator = board.updates(of: ["a"], SubscriptionOptions(window: window)).makeAsyncIterator()
    board.take(try await source.flush(("a", "{\"op\":\"feed.reload\"}")))
    #expect(try await next(1, &iterator).map(\.summary) == ["a present 2"])
    board.take(try await source.flush(("a", nil)))
    #expect(try await next(1, &iterator).map(\.summary) == ["a absent"])
    board.take(try await source.flush(("a", ChangesetSource.item("y"))))
    board.take(try await source.flush(("a", ChangesetSource.item("y", 1))))
    #expect(try await next(1, &iterator).map(\.summary) == ["a present 2 for 1"])
    board.take(try await source.flush(("a", ChangesetSource.item("y", 2))))
    let updates = try await next(1, &iterator)
    #expect(updates.map(\.summary) == ["a reconfigure 3"])
    #expect(updates[0].snapshot?.data(ofItem: "y")?.description == "{\"n\":2,\"p\":\"\"}")
  }

  @Test func `a snapshot does not change while it is held`() async throws {
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    var iterator = board.updates().makeAsyncIterator()
    let before = try #require(board.content(of: ByteText("a")))
    let told = try #require(try await next(1, &iterator).first?.snapshot)
    board.take(try await source.flush(("a", ChangesetSource.item("y"))))
    let after = try #require(try await next(1, &iterator).first?.snapshot)
    #expect(before.snapshot.itemIdentifiers == ["x"])
    #expect(told.itemIdentifiers == ["x"])
    #expect(after.itemIdentifiers == ["x", "y"])
    #expect(board.content(of: ByteText("a"))?.snapshot.itemIdentifiers == ["x", "y"])
  }

  @Test func `a replica can start from a reload document`() async throws {
    let first = try await source.flush(
      ("a", ChangesetSource.item("x")),
      ("a", "{\"op\":\"section.upsert\",\"section\":\"empty\",\"data\":[1, 2]}")
    )
    board.take(first)
    let second = try await source.flush(("a", ChangesetSource.item("y", size: 100)))
    board.take(second)
    board.endPartition()
    let content = try #require(board.content(of: ByteText("a")))
    let copy = Subscriptions.opened(bootstrapped: false)
    copy.take([ChangesetSource.Record(key: Array("k0/a".utf8), value: content.reloadDocument())])
    copy.endPartition()
    let copied = try #require(copy.content(of: ByteText("a")))
    #expect(copied.snapshot.hasSameContent(as: content.snapshot))
    #expect(copied.description.timeMilliseconds == content.description.timeMilliseconds)
    #expect(copied.description.epoch == "feeds.items:1795168800000/0")
    #expect(copied.description.version.through == content.description.version.through)
    #expect(content.description.version.deltaCount == 1)
    #expect(content.description.version.deltaBytes == second[0].value?.count)
    #expect(copied.description.version.deltaCount == 0)
  }

  @Test func `a gap is reported once, and the next reload ends it`() async throws {
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    var iterator = board.updates(of: ["a"]).makeAsyncIterator()
    #expect(try await next(1, &iterator).map(\.summary) == ["a present 1"])
    _ = try await source.flush(("a", ChangesetSource.item("y")))
    for number in 0..<3 { board.take(try await source.flush(("a", ChangesetSource.item("y", number + 1)))) }
    #expect(board.collect { $0.descriptions }.map(\.standing) == [.mustRefetch])
    board.take(try await source.flush(("a", "{\"op\":\"feed.reload\"}")))
    let updates = try await next(2, &iterator)
    #expect(updates.map(\.summary) == ["a must refetch", "a reload 6"])
    #expect(updates[1].snapshot?.itemIdentifiers == ["x", "y"])
    #expect(board.collect { $0.descriptions }.map(\.standing) == [.catchingUp])
  }

  @Test func `a gap that is open at the end of the partition is reported, and a closed one is not`()
    async throws
  {
    var iterator = board.updates().makeAsyncIterator()
    board.take(try await source.flush(("a", ChangesetSource.item("x")), ("b", ChangesetSource.item("x"))))
    _ = try await source.flush(("a", ChangesetSource.item("y")), ("b", ChangesetSource.item("y")))
    board.take(try await source.flush(("a", ChangesetSource.item("z")), ("b", ChangesetSource.item("z"))))
    board.take(try await source.flush(("b", "{\"op\":\"feed.reload\"}")))
    board.endPartition()
    #expect(try await next(2, &iterator).map(\.summary) == ["a must refetch", "b present 4"])
  }

  @Test func `what the protocol's table makes of damaged records is what subscribers are told`() async throws
  {
    let first = try await source.flush(("a", ChangesetSource.item("x")))
    let difference = try await source.flush(("a", ChangesetSource.item("y")))
    let reload = try await source.flush(("a", "{\"op\":\"feed.reload\"}"))
    func other(
      _ record: ChangesetSource.Record,
      _ old: String,
      _ new: String,
      key: String? = nil
    )
      -> ChangesetSource.Record
    {
      let text = String(decoding: record.value ?? [], as: UTF8.self)
      return ChangesetSource.Record(
        key: key.map { Array($0.utf8) } ?? record.key,
        value: Array(text.replacing(old, with: new).utf8)
      )
    }
    let deletion = other(difference[0], "\"mode\":\"diff\"", "\"mode\":\"delete\"")
    let cases: [(damage: [ChangesetSource.Record], told: [String])] = [
      // Malformed: it takes no difference until the next reload.
      (
        first + [other(difference[0], "\"time\"", "\"t\"")] + difference + reload,
        ["a must refetch", "a reload 3"]
      ),
      // A later part without the first.
      (
        first + [other(reload[0], "\"mode\"", "\"part\":1,\"parts\":2,\"mode\"", key: "k1/a")] + difference
          + reload,
        ["a must refetch", "a reload 3"]
      ),
      // A deletion of another epoch.
      (
        first + [other(deletion, "feeds.items:", "feeds.items:9")] + difference + reload,
        ["a must refetch", "a reload 3"]
      ),
      // There is no way back to an older revision.
      (
        first + difference + [other(difference[0], "\"base\":1", "\"base\":8").revised(9)] + first,
        ["a diff 2", "a must refetch"]
      ),
      // A difference without a state, and its deletion; a null under k1 has no effect.
      (difference + [ChangesetSource.Record(key: Array("k1/a".utf8), value: nil)], ["a must refetch"]),
      (difference + [deletion], ["a must refetch", "a absent"]),
    ]
    for (damage, told) in cases {
      let board = Subscriptions.opened()
      var iterator = board.updates().makeAsyncIterator()
      board.take(damage)
      var summaries: [String] = []
      while !board.waitingCounts.allSatisfy({ $0 == 0 }), let update = try await iterator.next() {
        summaries.append(update.summary)
      }
      #expect(summaries.filter { $0 != "a reload 1" } == told)
    }
  }

  @Test func `parts are joined, and delivered as they were written`() async throws {
    let source = ChangesetSource(maxMessageBytes: 1_000)
    board.endPartition()
    var iterator = board.updates().makeAsyncIterator()
    let many = "[" + (0..<40).map { ChangesetSource.item("i\($0)", size: 50) }.joined(separator: ",") + "]"
    let reload = try await source.flush(("a", many))
    let difference = try await source.flush(("a", many.replacing("\"n\":0", with: "\"n\":1")))
    #expect(reload.count > 2 && difference.count > 2)
    board.take(reload)
    board.take(difference)
    for (update, records) in zip(try await next(2, &iterator), [reload, difference]) {
      guard case .changed(let changeset, let snapshot?) = update else {
        Issue.record("a change with its snapshot, and not \(update)")
        return
      }
      #expect(changeset.values == records.map(\.value))
      #expect(snapshot.numberOfItems == 40)
    }
  }

  @Test func `a subscriber that joins between two parts receives the state once the changeset is complete`()
    async throws
  {
    let source = ChangesetSource(maxMessageBytes: 1_000)
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    let many = "[" + (0..<40).map { ChangesetSource.item("i\($0)", size: 50) }.joined(separator: ",") + "]"
    let records = try await source.flush(("a", many))
    board.take(Array(records.prefix(2)))
    var iterator = board.updates().makeAsyncIterator()
    #expect(try await next(1, &iterator).map(\.summary) == ["a present 1"])
    board.take(Array(records.dropFirst(2)))
    #expect(try await next(1, &iterator).first?.snapshot?.numberOfItems == 41)
  }

  @Test func `a coalescing subscriber has a bounded queue, and ends with the newest state`() async throws {
    board.take(try await source.flush(("a", ChangesetSource.item("x")), ("b", ChangesetSource.item("x"))))
    board.endPartition()
    var iterator = board.updates(of: nil, SubscriptionOptions(maximumUpdates: 4)).makeAsyncIterator()
    _ = try await next(2, &iterator)
    for number in 1...100 {
      let taken = board.take(try await source.flush(("a", ChangesetSource.item("x", number))))
      #expect(taken.allSatisfy { if case .taken = $0 { true } else { false } })
      #expect(board.waitingCounts.allSatisfy { $0 <= 4 })
    }
    board.take(try await source.flush(("b", ChangesetSource.item("x", 1))))
    let updates = try await next(2, &iterator)
    #expect(updates.map(\.summary) == ["a present 101 for 100", "b reconfigure 2"])
    #expect(updates[0].snapshot?.data(ofItem: "x")?.description == "{\"n\":100,\"p\":\"\"}")
    board.take(try await source.flush(("a", ChangesetSource.item("y"))))
    #expect(try await next(1, &iterator).map(\.summary) == ["a diff 102"])
  }

  @Test func `the bytes of pending updates are bounded as well`() async throws {
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    var iterator = board.updates(of: nil, SubscriptionOptions(maximumBytes: 3_000)).makeAsyncIterator()
    _ = try await next(1, &iterator)
    for number in 1...10 {
      board.take(try await source.flush(("a", ChangesetSource.item("x", number, size: 1_000))))
    }
    #expect(board.waitingCounts == [0])
    #expect(try await next(1, &iterator).map(\.summary) == ["a present 11 for 10"])
  }

  @Test func `a subscriber that pauses reading receives every changeset`() async throws {
    let board = board
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    let options = SubscriptionOptions(slowPolicy: .pausesReading, maximumUpdates: 3)
    var iterator = board.updates(of: nil, options).makeAsyncIterator()
    _ = try await next(1, &iterator)
    var told: [String] = []
    for number in 1...10 {
      let records = try await source.flush(("a", ChangesetSource.item("x", number)))
      while case .noRoom? = board.take(records).first {
        #expect(board.waitingCounts == [3])
        async let room: Void = board.waitForRoom()
        told += try await next(1, &iterator).map(\.summary)
        await room
      }
    }
    told += try await next(3, &iterator).map(\.summary)
    #expect(told == (2...11).map { "a reconfigure \($0)" })
  }

  @Test func `a feed that does not exist is reported as absent, and followed once it is created`()
    async throws
  {
    var iterator = board.updates(of: ["a", "b"]).makeAsyncIterator()
    board.take(try await source.flush(("a", ChangesetSource.item("x")), ("c", ChangesetSource.item("x"))))
    board.endPartition()
    #expect(try await next(2, &iterator).map(\.summary).sorted() == ["a present 1", "b absent"])
    board.take(try await source.flush(("b", ChangesetSource.item("x")), ("c", ChangesetSource.item("y"))))
    #expect(try await next(1, &iterator).map(\.summary) == ["b reload 1"])
    // Canonically equivalent strings with other bytes.
    var accents = board.updates(of: ["e\u{301}"]).makeAsyncIterator()
    #expect(try await next(1, &accents).map(\.summary) == ["e\u{301} absent"])
    board.take(try await source.flush(("\u{E9}", ChangesetSource.item("x"))))
    board.take(try await source.flush(("e\u{301}", ChangesetSource.item("y"))))
    #expect(try await next(1, &accents).first?.snapshot?.itemIdentifiers == ["y"])
  }

  @Test func `a subscription with history receives every changeset of the topic`() async throws {
    var iterator = board.updates(of: nil, SubscriptionOptions(beginsWithHistory: true)).makeAsyncIterator()
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.take(try await source.flush(("a", ChangesetSource.item("y"))))
    board.endPartition()
    board.take(try await source.flush(("a", ChangesetSource.item("x", 1))))
    let updates = try await next(3, &iterator)
    #expect(updates.map(\.summary) == ["a reload 1", "a diff 2", "a reconfigure 3"])
    #expect(updates.map { $0.snapshot?.numberOfItems } == [1, 2, 2])
  }

  @Test func `feeds of partitions that are no longer followed are absent`() async throws {
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    var iterator = board.updates().makeAsyncIterator()
    board.open([1], beginnings: [1: 7])
    #expect(board.standing == .bootstrapping)
    #expect(board.positions == [1: 7])
    #expect(board.collect { $0.descriptions }.isEmpty)
    #expect(try await next(1, &iterator).map(\.summary) == ["a absent"])
  }

  @Test func `a recreated topic is read from its beginning`() async throws {
    board.take(try await source.flush(("a", ChangesetSource.item("x")), ("b", ChangesetSource.item("x"))))
    board.endPartition()
    var iterator = board.updates().makeAsyncIterator()
    _ = try await next(2, &iterator)
    let other = ChangesetSource()
    let record = try await other.flush(("b", ChangesetSource.item("y")))[0]
    let value = try #require(record.value)
    _ = record.key.withUnsafeBytes { key in
      value.withUnsafeBytes { board.take(0, offset: 0, key: ByteSpan(key), value: ByteSpan($0)) }
    }
    #expect(board.standing == .upToDate)
    board.updateStanding()
    #expect(board.standing == .bootstrapping)
    board.endPartition()
    var last: [String: String] = [:]
    for update in try await next(2, &iterator) { last[update.feed] = update.summary }
    #expect(last == ["a": "a absent", "b": "b present 1"])
  }

  @Test func `when the client ends, subscriptions end after their pending updates`()
    async throws
  {
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    var first = board.updates().makeAsyncIterator()
    let standings = board.standings()
    board.finish(.failed(FeedClientError(.missingTopic, "gone")))
    #expect(try await first.next()?.summary == "a present 1")
    await #expect(throws: FeedClientError.self) { _ = try await first.next() }
    var told: [FeedStanding] = []
    for await standing in standings { told.append(standing) }
    #expect(told == [.upToDate])
  }

  @Test func `a reset discards all feeds, ends subscriptions, and follows the last requested partitions`()
    async throws
  {
    let options = SubscriptionOptions(slowPolicy: .pausesReading, maximumUpdates: 1, beginsWithHistory: true)
    var named = board.updates(of: ["a"], options).makeAsyncIterator()
    var ended = board.updates().makeAsyncIterator()
    board.take(try await source.flush(("a", ChangesetSource.item("x"))))
    board.endPartition()
    board.finish(.failed(FeedClientError(.kafka, "refused")))
    board.ask(.follow([0, 3]))
    #expect(board.takeRequest() == .stop)

    board.reset()
    #expect(board.standing == .bootstrapping)
    #expect(board.partitions.isEmpty)
    #expect(board.content(of: ByteText("a")) == nil)
    await #expect(throws: FeedClientError.self) { try await named.next() }
    await #expect(throws: FeedClientError.self) { try await ended.next() }
    #expect(board.takeRequest() == .follow([0, 3]))

    // It reads from the beginning, and earlier subscribers do not block it.
    var iterator = board.updates().makeAsyncIterator()
    board.open([0], beginnings: [0: 0])
    let records = try await source.flush(("b", ChangesetSource.item("x")), ("c", ChangesetSource.item("x")))
    #expect(board.take(records).count == 2)
    board.endPartition()
    #expect(board.positions == [0: 2])
    #expect(try await next(2, &iterator).map(\.summary) == ["b present 1", "c present 1"])
    board.finish(.stopped)
    #expect(try await iterator.next() == nil)
  }

  @Test func `the same id in several partitions is several feeds, each delivered once, and is reported once`()
    async throws
  {
    let board = Subscriptions.opened(partitions: [0, 1, 2], bootstrapped: false)
    let sources = [ChangesetSource(), ChangesetSource()]
    var all = board.updates().makeAsyncIterator()
    var named = board.updates(of: ["a", "none"]).makeAsyncIterator()
    for number in 0...1 as ClosedRange<Int32> {
      board.take(
        try await sources[Int(number)].flush(("a", ChangesetSource.item("in-\(number)"))),
        partition: number
      )
      board.endPartition(number)
    }
    // Not before all partitions are known.
    #expect(board.takeSharedIDs() == [])
    board.endPartition(2)
    let messages = board.takeSharedIDs()
    #expect(messages.count == 1)
    #expect(messages.first?.hasPrefix("feed \"a\" is in the partitions 0, 1: ") == true)
    #expect(board.sharedIDCount == 1)
    #expect(board.partitions(of: ByteText("a")) == [0, 1])
    var late = board.updates(of: ["a"]).makeAsyncIterator()

    func told(_ updates: [FeedUpdate]) -> [String] {
      updates.map {
        "\($0.partition ?? -1) \($0.summary) \($0.snapshot?.itemIdentifiers.first?.description ?? "")"
      }
    }
    let states = ["0 a present 1 in-0", "1 a present 1 in-1"]
    #expect(told(try await next(2, &all)) == states)
    #expect(told(try await next(3, &named)) == states + ["-1 none absent "])
    #expect(told(try await next(2, &late)) == states)
    // Both have the same epoch and revision, and continue by themselves.
    board.take(try await sources[1].flush(("a", ChangesetSource.item("more"))), partition: 1)
    board.take(try await sources[0].flush(("a", nil)))
    let changes = ["1 a diff 2 in-1", "0 a absent "]
    #expect(told(try await next(2, &all)) == changes)
    #expect(told(try await next(2, &named)) == changes)
    #expect(board.sharedIDCount == 0)
    #expect(board.content(of: ByteText("a"))?.description.partition == 1)
    #expect(board.content(of: ByteText("a"), in: 0) == nil)
    // Again, in another partition, which is then removed.
    board.take(try await ChangesetSource().flush(("a", ChangesetSource.item("in-2"))), partition: 2)
    #expect(board.takeSharedIDs().count == 1)
    board.open([0, 1], beginnings: [:])
    #expect(board.sharedIDCount == 0)
    #expect(told(try await next(1, &named)) == ["2 a absent "])
  }

  @Test func `a cancelled subscriber stops waiting`() async throws {
    let updates = board.updates()
    let task = Task {
      for try await _ in updates {}
      return true
    }
    task.cancel()
    #expect(try await task.value)
  }
}

struct QueueTests {
  @Test func `elements leave in order, without those removed in between`() {
    var queue = Queue<Int>()
    for number in 0..<10 { queue.append(number) }
    #expect(queue.removeFirst() == 0)
    #expect(queue.removeAll { $0.isMultiple(of: 3) } == [3, 6, 9])
    queue.append(10)
    var rest: [Int] = []
    while let number = queue.removeFirst() { rest.append(number) }
    #expect(rest == [1, 2, 4, 5, 7, 8, 10])
    #expect(queue.isEmpty)
    #expect(queue.removeFirst() == nil)
  }
}
