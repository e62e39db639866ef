import ChangesetTestSupport
import Changesets
import Feed
import HTTPTestSupport
import Kafka
import Oracle
import Testing

@testable import FeedHTTP
@testable import FeedWorker

/// What a worker has read of a partition to restore it is served without being read again.
struct AdoptedPartitionTests {
  private let source = ChangesetSource()

  /// What a worker has read up to an offset. It is not what the topic contains, so that it shows who has read what.
  private func restored(_ feed: String, upTo position: Int) async throws -> ReadPartition {
    let replicas = ReplicaPartition(describesChanges: false)
    for record in try await source.flush((feed, ChangesetSource.item("x"))) {
      try replicas.apply(record)
    }
    return ReadPartition(ServedGround.topic, 0, continuing: replicas, from: Int64(position))
  }

  @Test func `a partition that was restored is served from there on`() async throws {
    let ground = try ServedGround(isAssigned: false)
    let records = try await source.flush(("read", ChangesetSource.item("x")))
    try ground.publish(records)
    let restored = try await restored("restored", upTo: records.count)
    let follower = try #require(ground.server.follower)
    follower.noteRestored(restored)
    ground.assign(0..<1)
    _ = try await ground.ask("GET /v1/feeds/restored", until: 200)
    #expect(try ground.ask("GET /v1/feeds/read").status == 404)
    // The worker goes on with what it has read.
    #expect(try restored.replicas.takeFeeds().map(\.id.text) == ["restored"])
    let change = try await source.flush(("restored", ChangesetSource.item("y")))
    try ground.publish(change)
    _ = try await ground.tag(of: "restored", containing: "\"y\"")

    // And what was followed can be restored once more.
    let ends = Watermarks(low: 0, high: Int64(records.count + change.count))
    let taken = try #require(follower.take(0, within: ends))
    #expect(taken.position == ends.high)
    #expect(try taken.replicas.takeFeeds().map(\.itemCount) == [2])
    _ = try await ground.tag(of: "restored", containing: "\"y\"")
    await ground.end()
  }

  @Test(arguments: [true, false])
  func `a partition that could not be restored, or was given up, is read from its beginning`(
    isStopped: Bool
  ) async throws {
    let ground = try ServedGround(isAssigned: false)
    let records = try await source.flush(("read", ChangesetSource.item("x")))
    try ground.publish(records)
    let follower = try #require(ground.server.follower)
    follower.noteRestored(try await restored("restored", upTo: records.count))
    if isStopped { follower.noteStopped(0) } else { follower.giveBack(0, nil) }
    ground.assign(0..<1)
    _ = try await ground.ask("GET /v1/feeds/read", until: 200)
    #expect(try ground.ask("GET /v1/feeds/restored").status == 404)
    await ground.end()
  }
}
