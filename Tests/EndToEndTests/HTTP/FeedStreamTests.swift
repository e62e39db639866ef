import ChangesetTestSupport
import FeedConfiguration
import HTTP
import HTTPTestSupport
import Testing

/// Streams of changes, and reconnecting to them.
struct FeedStreamTests {
  private let source = ChangesetSource()

  private func flush(_ feed: String = "a", _ events: String?...) async throws -> [ChangesetSource.Record] {
    var records: [ChangesetSource.Record] = []
    for event in events { records += try await source.flush((feed, event)) }
    return records
  }

  private func change(_ number: Int) -> String { ChangesetSource.item("x", number) }

  @Test func `a stream begins with the state, and continues with published changesets, byte for byte`()
    async throws
  {
    let ground = try ServedGround()
    try ground.publish(try await flush("a", change(0), change(1)))
    let reader = try await ground.follow("a")
    let state = try #require(try await reader.next())
    #expect(state.id == "feeds.items:1795168800000/0@2")
    #expect(state.name == nil)
    #expect(state.data == (try ground.ask("GET /v1/feeds/a").text))
    #expect(
      try await reader.next()
        == EventReader.Message(
          id: nil,
          name: "up-to-date",
          data: #"{"feed":"a","partition":0,"epoch":"feeds.items:1795168800000/0","revision":2}"#
        )
    )
    let other = try await flush("b", change(0))
    let more = try await flush("a", change(2), ChangesetSource.item("y"), change(3))
    try ground.publish(other + more)
    var ids: [String?] = []
    var plans: [String] = []
    for value in ServedGround.values(more) {
      var message = try #require(try await reader.next())
      if message.name == "plan" {
        plans.append(message.data)
        #expect(message.id == nil)
        message = try #require(try await reader.next())
      }
      #expect(message.data == value)
      ids.append(message.id)
    }
    // Only one of the three inserts an item.
    #expect(plans == more.compactMap { $0.plan.map { String(decoding: $0, as: UTF8.self) } })
    #expect(plans.count == 1)
    #expect(
      ids == [
        "feeds.items:1795168800000/0@3", "feeds.items:1795168800000/0@4", "feeds.items:1795168800000/0@5",
      ]
    )
    await ground.end()
    // Nor does any other message report the reader up to date.
    #expect(try await reader.next() == nil)
  }

  @Test func `a split changeset is sent part by part, and only the last part has an id`() async throws {
    let source = ChangesetSource(maxMessageBytes: 66_000)
    let ground = try ServedGround()
    try ground.publish(try await source.flush(("a", ChangesetSource.item("x"))))
    let reader = try await ground.follow("a")
    #expect(try await reader.nextChangeset() != nil)
    let event = """
      [\(ChangesetSource.item("y", size: 50_000)),\(ChangesetSource.item("z", size: 50_000))]
      """
    let records = try await source.flush(("a", event))
    #expect(records.count == 2)
    try ground.publish(records)
    let first = try #require(try await reader.next(named: nil))
    let second = try #require(try await reader.next(named: nil))
    #expect([first.data, second.data] == ServedGround.values(records))
    #expect([first.id, second.id] == [nil, "feeds.items:1795168800000/0@2"])
    await ground.end()
  }

  @Test func `a reader that reconnects gets what it missed, or a reload`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await flush("a", change(0)))
    _ = try await ground.ask("GET /v1/feeds/a", until: 200)
    // Nothing was published since, so only an up-to-date message is sent.
    let idle = try await ground.follow("a", after: "feeds.items:1795168800000/0@1")
    #expect(try await idle.next()?.name == "up-to-date")

    let records = try await flush("a", change(1), change(2), change(3))
    try ground.publish(records)
    let values = ServedGround.values(records)
    // These changesets are in the history now.
    for value in values { #expect(try await idle.nextChangeset() == value) }
    for missed in 0...3 {
      let reader = try await ground.follow("a", after: "feeds.items:1795168800000/0@\(4 - missed)")
      for value in values.suffix(missed) { #expect(try await reader.nextChangeset() == value) }
      #expect(try await reader.next(named: "up-to-date")?.data.hasSuffix(":4}") == true)
    }
    for strange in [
      "feeds.items:1795168800000/0@0", "feeds.items:1795168800000/0@5", "feeds.items:1795168800000/7@1",
      "feeds.items:1795168800001/0@4", "feeds.items/0@4", "nonsense", "@", "é@1",
    ] {
      let reader = try await ground.follow("a", after: strange)
      #expect(
        try await reader.nextChangeset()?.contains("\"mode\":\"reload\",\"reason\":\"keyframe\"") == true
      )
    }
    await ground.end()
  }

  @Test func `the history for reconnecting readers is bounded`() async throws {
    let ground = try ServedGround { $0.maxHistoryBytes = 4_900 }
    try ground.publish(try await flush("a", change(0)))
    let reader = try await ground.follow("a")
    #expect(try await reader.nextChangeset() != nil)
    let records = try await flush("a", change(1), ChangesetSource.item("y", size: 1_500), change(2))
    try ground.publish(records)
    for value in ServedGround.values(records) { #expect(try await reader.nextChangeset() == value) }
    let late = try await ground.follow("a", after: "feeds.items:1795168800000/0@1")
    #expect(try await late.nextChangeset()?.contains("\"revision\":4,\"base\":4") == true)
    let recent = try await ground.follow("a", after: "feeds.items:1795168800000/0@3")
    #expect(try await recent.nextChangeset() == ServedGround.values(records).last)
    await ground.end()
  }

  @Test func `a feed that is deleted and recreated is followed into its next epoch`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await flush("a", change(0)))
    let reader = try await ground.follow("a")
    #expect(try await reader.nextChangeset() != nil)
    // Once a change has been sent, server and reader are at the same position, and each change is sent separately.
    try ground.publish(try await flush("a", change(1)))
    #expect(try await reader.nextChangeset() != nil)
    let deletion = try await flush("a", nil)
    try ground.publish(deletion)
    let told = try #require(try await reader.next(named: nil))
    #expect(told.data == ServedGround.values(deletion).first && told.id == "feeds.items:1795168800000/0@3")
    #expect(
      try await reader.next(named: "up-to-date")?.data
        == #"{"feed":"a","epoch":"feeds.items:1795168800000/0","revision":3}"#
    )
    #expect(try await ground.ask("GET /v1/feeds/a", until: 404).status == 404)
    #expect(try await ground.ask("GET /v1/feeds/a/changes", until: 404).status == 404)
    // A reader that reconnects receives the missed changesets.
    let late = try #require(try await ground.open("a", after: "feeds.items:1795168800000/0@2"))
    #expect(try await late.next(named: nil)?.data == told.data)
    #expect(try await late.next(named: "up-to-date") != nil)
    let birth = try await flush("a", change(5))
    try ground.publish(birth)
    #expect(try await reader.nextChangeset() == ServedGround.values(birth).first)
    await ground.end()
  }

  @Test func `a gap in the topic is reported, and ends with the next reload`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await flush("a", change(0)))
    let reader = try await ground.follow("a")
    #expect(try await reader.nextChangeset() != nil)
    let records = try await flush("a", change(1), change(2), "{\"op\":\"feed.reload\"}")
    try ground.publish([records[1]])
    let notice = try #require(try await reader.next(named: "must-refetch"))
    #expect(notice.data.contains("the replica has revision 1, and the changeset has base 2"))
    #expect(try await ground.ask("GET /v1/feeds/a", until: 503).text.contains("stale"))
    try ground.publish([records[2]])
    #expect(try await reader.nextChangeset() == ServedGround.values(records).last)
    #expect(try await reader.next(named: "up-to-date")?.data.hasSuffix(":4}") == true)
    await ground.end()
  }

  @Test func `a reader that is too slow gets the newest state instead of what it missed`() async throws {
    let ground = try ServedGround { $0.server.maxStreamQueueBytes = 20_000 }
    try ground.publish(try await flush("a", change(0)))
    let slow = try await ground.follow("a", receiveBufferBytes: 4096)
    let quick = try await ground.follow("a")
    #expect(try await quick.nextChangeset() != nil)
    // Far more than the sockets and the queue can hold.
    for number in 1...40 {
      try ground.publish(try await flush("a", ChangesetSource.item("x", number, size: 50_000)))
      // A fast reader may get a state as well, but does not fall behind.
      while let value = try await quick.nextChangeset(), !value.contains("\"revision\":\(number + 1),") {}
    }
    let replica = StreamedReplica("a")
    var count = 0
    while replica.version != "feeds.items:1795168800000/0@41", let message = try await slow.next(named: nil) {
      try replica.take(message)
      count += 1
    }
    #expect(count < 41)
    #expect(replica.faults == 0)
    #expect(replica.document == (try ground.ask("GET /v1/feeds/a").text))
    // From then on it receives each change again.
    let records = try await flush("a", change(100))
    try ground.publish(records)
    #expect(try await slow.nextChangeset() == ServedGround.values(records).first)
    await ground.end()
  }

  @Test func `streams end properly when the daemon stops`() async throws {
    let ground = try ServedGround()
    try ground.publish(try await flush("a", change(0)))
    let reader = try await ground.follow("a")
    #expect(try await reader.nextChangeset() != nil)
    await ground.end()
    while let message = try await reader.next() { #expect(message.name == "up-to-date") }
  }

  @Test func `the same id in two partitions is two feeds, with streams and histories of their own`()
    async throws
  {
    let other = ChangesetSource()
    let ground = try ServedGround(partitions: 2)
    try ground.publish(try await other.flush(("a", ChangesetSource.item("in-1"))), partition: 1)
    try ground.publish(try await flush("a", ChangesetSource.item("in-0")))
    _ = try await ground.ask("GET /v1/feeds/a?partition=0", until: 200)
    let high = try await ground.ask("GET /v1/feeds/a?partition=1", until: 200)
    let low = try ground.ask("GET /v1/feeds/a?partition=0")
    #expect(low["Feedstore-Partition"] == "0" && low["Feedstore-Other-Partitions"] == "1")
    #expect(high["Feedstore-Partition"] == "1" && high["Feedstore-Other-Partitions"] == "0")
    #expect(low.text.contains("in-0") && high.text.contains("in-1"))
    // Epoch and revision are equal, so a tag without the partition is ambiguous.
    let tag = try #require(low["ETag"])
    #expect(high["ETag"] == tag)
    #expect(try ground.ask("GET /v1/feeds/a?partition=1", "If-None-Match: \(tag)").status == 304)
    let unnamed = try ground.ask("GET /v1/feeds/a", "If-None-Match: \(tag)")
    #expect(unnamed.status == 200 && unnamed.text.contains("in-0") && unnamed["ETag"] == nil)
    #expect(unnamed["Feedstore-Other-Partitions"] == "1")
    #expect(try ground.ask("GET /v1/feeds/a?partition=2").status == 404)
    #expect(try ground.ask("GET /v1/feeds/a?partition=x").status == 400)

    // Each stream has its own changesets, and resumes from its own history.
    let readers = [
      try await ground.follow("a", "?partition=0"), try await ground.follow("a", "?partition=1"),
    ]
    for (number, reader) in readers.enumerated() {
      let notice = try #require(try await reader.next(named: "other-partitions"))
      #expect(notice.data == "{\"feed\":\"a\",\"partition\":\(number),\"otherPartitions\":[\(1 - number)]}")
      #expect(try await reader.nextChangeset()?.contains("in-\(number)") == true)
    }
    let records = [try await flush("a", change(3)), try await other.flush(("a", change(7)))]
    for (number, records) in records.enumerated() { try ground.publish(records, partition: Int32(number)) }
    for (records, reader) in zip(records, readers) {
      #expect(try await reader.nextChangeset() == ServedGround.values(records).first)
    }
    let version = String(tag.dropFirst().dropLast())
    let resumed = try await ground.follow("a", "?partition=1", after: version)
    #expect(try await resumed.nextChangeset() == ServedGround.values(records[1]).first)
    let begun = try await ground.follow("a", after: version)
    #expect(try await begun.nextChangeset()?.contains("\"mode\":\"reload\"") == true)
    // A deletion ends neither the other feed nor its stream.
    try ground.publish(try await flush("a", nil))
    #expect(try await readers[0].nextChangeset()?.contains("\"mode\":\"delete\"") == true)
    let more = try await other.flush(("a", change(8)))
    try ground.publish(more, partition: 1)
    #expect(try await readers[1].nextChangeset() == ServedGround.values(more).first)
    let single = try await ground.ask("GET /v1/feeds/a", until: 200)
    #expect(single["Feedstore-Partition"] == "1" && single["Feedstore-Other-Partitions"] == nil)
    await ground.end()
  }
}
