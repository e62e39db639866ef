import ChangesetTestSupport
import Diagnostics
import HTTPTestSupport
import Kafka
import KafkaTestSupport
import Synchronization
import Testing

/// What readers see when the follower fails, and when it has recovered.
struct RecoveryTests {
  private let source = ChangesetSource()
  private let pauses = PauseGate()

  private func flush(_ feed: String, _ number: Int) async throws -> [ChangesetSource.Record] {
    try await source.flush((feed, ChangesetSource.item("x", number)))
  }

  @Test func `after a failure feeds are read again, and streams restart`() async throws {
    let ground = try ServedGround(pauses: pauses)
    try ground.publish(try await flush("gone", 1))
    try ground.publish(try await flush("a", 1))
    let reader = try await ground.follow("a")
    #expect(try await reader.next(named: "up-to-date") != nil)

    try ground.cluster.pushRequestErrors(.fetch, [.topicAuthorizationFailed])
    #expect(await pauses.next() == .seconds(1))
    let notice = try #require(try await reader.next(named: "must-refetch"))
    #expect(notice.data.contains("reads its feeds again"))
    #expect(try await reader.next() == nil)
    for path in ["/v1/feeds/a", "/v1/feeds/a/changes"] {
      let response = try ground.ask("GET \(path)")
      #expect(response.status == 503)
      #expect(response["Retry-After"] == "1")
      #expect(response.text.contains("restoring"))
    }
    // All feeds and partitions have been discarded.
    let status = try ground.ask("GET /v1/status").text
    #expect(status.contains("\"partitions\":[]"))
    #expect(status.contains("\"standing\":\"bootstrapping\""))

    try ground.publish(try await source.flush(("gone", nil)))
    try ground.publish(try await flush("a", 2))
    pauses.open()
    let response = try await ground.ask("GET /v1/feeds/a", until: 200)
    #expect(response["ETag"] == "\"feeds.items:1795168800001/1@2\"")
    #expect(try ground.ask("GET /v1/feeds/gone").status == 404)
    // Missed changesets are no longer in the history.
    let again = try await ground.follow("a", after: "feeds.items:1795168800001/1@1")
    #expect(try await again.nextChangeset() == response.text)
    let idle = try await ground.follow("a", after: "feeds.items:1795168800001/1@2")
    #expect(try await idle.next()?.name == "up-to-date")
    let change = try await flush("a", 3)
    try ground.publish(change)
    for reader in [again, idle] {
      #expect(try await reader.nextChangeset() == ServedGround.values(change).first)
    }
    await ground.end()
  }

  @Test func `while it fails the pauses grow, and then the latest partitions are followed`() async throws {
    let lines = Mutex<[String]>([])
    let log = Log(
      level: .error,
      output: DiagnosticOutput(isTerminal: false) { line in lines.withLock { $0.append(line) } }
    )
    let ground = try ServedGround(
      partitions: 2,
      isAssigned: false,
      topicError: .topicAuthorizationFailed,
      log: log,
      pauses: pauses
    )
    ground.assign(0..<1)
    for seconds in [1, 2, 4] {
      #expect(await pauses.next() == .seconds(seconds))
      #expect(try ground.ask("GET /v1/feeds/a").status == 503)
      if seconds < 4 { pauses.open() }
    }
    let told = lines.withLock { $0.filter { $0.contains("event=http.follower-failed") } }
    #expect(told.count == 3)
    for (line, seconds) in zip(told, [1, 2, 4]) {
      #expect(line.contains("TOPIC_AUTHORIZATION_FAILED"))
      #expect(line.contains("pauseSeconds=\(seconds)"))
    }
    ground.assign(0..<2)
    try ground.cluster.setTopicError(ServedGround.topic, nil)
    try ground.publish(try await flush("a", 1), partition: 1)
    pauses.open()
    _ = try await ground.ask("GET /v1/feeds/a", until: 200)
    await ground.end()
  }

  @Test func `a server that is stopping does not wait for a pause to end`() async throws {
    let ground = try ServedGround(isAssigned: false, topicError: .topicAuthorizationFailed, pauses: pauses)
    ground.assign(0..<1)
    #expect(await pauses.next() == .seconds(1))
    await ground.end()
  }
}
