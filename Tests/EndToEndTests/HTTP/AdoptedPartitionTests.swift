import ChangesetTestSupport
import Changesets
import Feed
import HTTPTestSupport
import Kafka
import Oracle
import Testing

@testable import FeedHTTP
@testable import FeedWorker

/// Partitions that a worker has read for a restoration are served without being read again.
struct AdoptedPartitionTests {
  private let source = ChangesetSource()

  /// A worker's replicas up to an offset; they differ from the topic's content, to identify the reader.
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
    // The worker continues with its replicas.
    #expect(try restored.replicas.takeFeeds().map(\.id.text) == ["restored"])
    let change = try await source.flush(("restored", ChangesetSource.item("y")))
    try ground.publish(change)
    _ = try await ground.tag(of: "restored", containing: "\"y\"")

    // And the followed replicas can be restored again.
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
