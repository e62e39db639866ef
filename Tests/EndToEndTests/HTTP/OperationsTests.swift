import Diagnostics
import FeedConfiguration
import FeedDaemon
import FeedHTTP
import FeedStore
import HTTP
import HTTPTestSupport
import Kafka
import KafkaTestSupport
import ObservationSupport
import OperatingSystem
import Settings
import Synchronization
import Testing

@testable import FeedStatus

/// Routes for operators and their tools: health, status and metrics.
struct OperationsTests {
  private static let token = "0123456789abcdef"

  @Test func `probes report whether the daemon is ready, and why not`() async throws {
    let ground = try ServedGround(partitions: 2, isAssigned: false) { $0.servesFeeds = false }
    #expect(try ground.ask("GET /livez").status == 200)
    #expect(try ground.ask("GET /readyz").text.contains("\"code\":\"starting\""))
    let inputs = [0, 1].map { TopicPartition(topic: "feeds.items", partition: $0) }
    ground.server.status.assigned(inputs, to: 0)
    let restoring = try ground.ask("GET /readyz")
    #expect(restoring.status == 503)
    #expect(restoring["Content-Type"] == "application/problem+json")
    #expect(
      restoring.text.contains("worker 0 restores the feeds of 2 partitions; 0 records remain")
    )
    ground.server.status.running(0, except: [1])
    #expect(try ground.ask("GET /readyz").text.contains("\"code\":\"stopped\""))
    ground.server.status.running(0)
    let ready = try ground.ask("GET /readyz")
    #expect(ready.status == 200)
    #expect(ready.text == "{\"code\":\"ready\",\"reasons\":[],\"status\":200}")
    #expect(try ground.ask("HEAD /readyz").status == 200)
    ground.server.status.released([0, 1], by: 0)
    #expect(try ground.ask("GET /readyz").text.contains("\"code\":\"joining\""))
    await ground.end()
  }

  @Test func `a daemon that serves feeds is ready when it can serve them`() async throws {
    let pauses = PauseGate()
    let ground = try ServedGround(isAssigned: false, topicError: .topicAuthorizationFailed, pauses: pauses)
    #expect(try ground.ask("GET /readyz").text.contains("\"code\":\"starting\""))
    // Without partitions, there is nothing to read.
    ground.assign(0..<0)
    #expect(try ground.ask("GET /readyz").status == 200)
    ground.assign(0..<1)
    _ = await pauses.next()
    let reading = try ground.ask("GET /readyz")
    #expect(reading.status == 503 && reading.text.contains("\"code\":\"reading\""))
    #expect(try ground.ask("GET /metrics").text.contains("\nfeedstore_ready 0\n"))
    #expect(try ground.ask("GET /v1/status").text.contains("\"ready\":false"))
    #expect(try ground.ask("GET /livez").status == 200)
    try ground.cluster.setTopicError(ServedGround.topic, nil)
    pauses.open()
    _ = try await ground.ask("GET /readyz", until: 200)
    #expect(try ground.ask("GET /v1/feeds/a").status == 404)
    await ground.end()
  }

  @Test func `without feeds, status and metrics are served`() async throws {
    let ground = try ServedGround { $0.servesFeeds = false }
    let status = try ground.ask("GET /v1/status").text
    #expect(status.contains("\"librdkafka\":\"\(Librdkafka.version)\""))
    #expect(status.contains("\"ready\":true"))
    #expect(status.contains("\"partitions\":[{\"partition\":0}]"))
    #expect(!status.contains("standing"))
    for path in ["/", "/v1/feeds", "/v1/feeds/a", "/v1/feeds/a/changes"] {
      #expect(try ground.ask("GET \(path)").status == 404)
    }
    await ground.end()
  }

  @Test func `probes need no token, and metrics only if configured`() async throws {
    for isOpen in [false, true] {
      let ground = try ServedGround(token: try BearerToken(Self.token)) { $0.metricsWithoutToken = isOpen }
      #expect(try ground.ask("GET /livez").status == 200)
      _ = try await ground.ask("GET /readyz", until: 200)
      #expect(try ground.ask("GET /metrics").status == (isOpen ? 200 : 401))
      #expect(try ground.ask("GET /v1/status").status == 401)
      let own = "Authorization: Bearer \(Self.token)"
      #expect(try ground.ask("GET /metrics", own).status == 200)
      #expect(try ground.ask("GET /v1/status", own).status == 200)
      await ground.end()
    }
  }

  @Test func `metrics are sent in the requested format`() async throws {
    let ground = try ServedGround()
    let plain = try ground.ask("GET /metrics")
    #expect(plain["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    let build =
      "feedstore_build_info{version=\"\(Release.version)\",commit=\"\(Release.commit)\",librdkafka=\""
    #expect(plain.text.contains("\n" + build))
    #expect(plain.text.contains("\n# TYPE feedstore_flushes_total counter\nfeedstore_flushes_total 0\n"))
    let open = try ground.ask(
      "GET /metrics",
      "Accept: application/openmetrics-text; version=1.0.0, */*;q=0.1"
    )
    #expect(open["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
    #expect(open.text.contains("\n# TYPE feedstore_flushes counter\nfeedstore_flushes_total 0\n"))
    #expect(open.text.hasSuffix("\n# EOF\n"))
    await ground.end()
  }

  @Test func `metrics count what a daemon reads and publishes, and the service manager is notified`()
    async throws
  {
    var ground = try Self.ground(partitions: 2)
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.windowMilliseconds = 1
    ground.configuration.store.coalescing.idleWindowMilliseconds = 1
    ground.configuration.kafka.append(ConfigurationPair(name: "statistics.interval.ms", value: "50"))
    ground.configuration.standby.isEnabled = true
    let supervisor = try TestSupervisor(isAbstract: true)
    let thread = WorkerThread(name: "test-notices")
    defer { thread.stop() }
    let isReady = Mutex(false)
    async let notices = Self.notices(of: supervisor, on: thread) { notice in
      if notice.contains("READY=1") { isReady.withLock { $0 = true } }
    }
    let stop = StopRequest()
    let url = Mutex("")
    let warnings = Mutex<[String]>([])
    let log = Ground.log(.warning) { line in warnings.withLock { $0.append(line) } }
    var daemon = ground.daemon(stop: stop, log: log) { event in
      if case .serving(let address) = event { url.withLock { $0 = address } }
    }
    daemon.supervisor = SupervisorSocket { $0 == "NOTIFY_SOCKET" ? supervisor.address : nil }
    let running = Task { [daemon] in try await daemon.run() }
    defer { stop.request() }
    let now = WallClock.milliseconds()
    let upsert = "{\"op\":\"item.upsert\",\"item\":\"x\",\"section\":\"s\"}"
    let bounded =
      "[\(upsert),{\"op\":\"section.replace\",\"section\":\"t\",\"items\":[\"p\",\"q\",\"r\"],\"keep\":1}]"
    try ground.produce(
      [
        TopicRecord(partition: 0, timestamp: now, "a", bounded),
        TopicRecord(partition: 1, timestamp: now, "b", upsert),
        TopicRecord(partition: 1, timestamp: now, "b", "{\"op\":\"item.delete\",\"item\":\"none\",\"x\":1}"),
        TopicRecord(partition: 1, timestamp: now, "b", "{\"op\":\"item.upsert\",\"item\":\"y\"}"),
      ],
      to: "feeds.items"
    )
    let text = try await Self.metrics(
      at: url,
      with: "\nfeedstore_input_records_total{topic=\"feeds.items\"} 4\n",
      "feedstore_kafka_round_trip_seconds_count{client=\"producer\"",
      "feedstore_input_lag_records{topic=\"feeds.items\",partition=\"1\"} 0"
    )
    let bytes = 4 + bounded.utf8.count + upsert.utf8.count + 40 + 31
    for line in [
      "feedstore_ready 1", "feedstore_partitions_owned 2", "feedstore_partitions_stopped 0",
      "feedstore_input_bytes_total{topic=\"feeds.items\"} \(bytes)",
      "feedstore_input_records_total{topic=\"feeds.sections\"} 0",
      "feedstore_rejected_records_total{code=\"unknown-section\"} 1",
      "feedstore_noops_total{reason=\"unknown-item\"} 1",
      "feedstore_ignored_fields_total{operation=\"item.delete\",field=\"x\"} 1",
      "feedstore_changesets_total{mode=\"reload\",reason=\"initial\"} 2",
      "feedstore_output_records_total 2", "feedstore_feeds 2", "feedstore_sections 3", "feedstore_items 3",
      "feedstore_cut_items_total 2",
      "feedstore_commit_delay_seconds_count 4", "feedstore_rebalances_total{kind=\"assigned\"} 1",
      "feedstore_restore_duration_seconds_count 1",
      "feedstore_standby_partitions{state=\"followed\"} 0",
      "feedstore_standby_takeovers_total{from=\"topic\"} 2",
      "feedstore_transactions_total{outcome=\"withdrawn\"} 0",
    ] {
      Self.expect(line, in: text)
    }
    // The service manager is notified each second.
    try await until("the service manager is notified that the daemon is ready") { isReady.withLock { $0 } }
    stop.request()
    let report = try await running.value
    #expect(report.counters.records == 4)
    let ignored = warnings.withLock { $0.filter { $0.contains("event=input.field-ignored") } }
    #expect(ignored.count == 1)
    #expect(
      ignored.first?.contains("operation=item.delete field=x topic=feeds.items partition=1 offset=1") == true
    )
    let told = try await notices
    // Until the daemon is ready, it requests more time.
    let early = told.prefix { !$0.contains("READY=1") }
    #expect(early.allSatisfy { $0.contains("EXTEND_TIMEOUT_USEC=30000000") })
    #expect(told.count { $0.contains("READY=1") } == 1)
    #expect(told.last?.contains("STOPPING=1") == true)
  }

  @Test func `work that is rolled back and repeated counts once`() async throws {
    var ground = try Self.ground(partitions: 1)
    defer { ground.cluster.stop() }
    ground.configuration.store.coalescing.maxRecords = 3
    try ground.cluster.pushRequestErrors(.txnOffsetCommit, [.illegalGeneration])
    let now = WallClock.milliseconds()
    let upsert = "{\"op\":\"item.upsert\",\"item\":\"x\",\"section\":\"s\"}"
    let record = TopicRecord(partition: 0, timestamp: now, "a", upsert)
    try ground.produce([record, record, record], to: "feeds.items")
    let stop = StopRequest()
    let url = Mutex("")
    let daemon = ground.daemon(stop: stop) { event in
      if case .serving(let address) = event { url.withLock { $0 = address } }
    }
    let running = Task { [daemon] in try await daemon.run() }
    defer { stop.request() }
    let text = try await Self.metrics(
      at: url,
      // The transaction is counted first, then its content.
      with: "\nfeedstore_transactions_total{outcome=\"committed\"} 1\n",
      "\nfeedstore_commit_delay_seconds_count ",
      without: "\nfeedstore_commit_delay_seconds_count 0\n"
    )
    for line in [
      "feedstore_input_records_total{topic=\"feeds.items\"} 3", "feedstore_commit_delay_seconds_count 3",
      "feedstore_flushes_total 1", "feedstore_transactions_total{outcome=\"withdrawn\"} 1",
      "feedstore_transactions_withdrawn_in_a_row 0",
      "feedstore_producers_replaced_total{reason=\"aborted\"} 1",
      "feedstore_changesets_total{mode=\"reload\",reason=\"initial\"} 1", "feedstore_waiting_records 0",
    ] {
      Self.expect(line, in: text)
    }
    stop.request()
    _ = try await running.value
  }

  /// An embedded cluster for a daemon that does not serve feeds.
  private static func ground(partitions: Int32) throws -> Ground {
    var ground = try Ground(partitions: partitions)
    ground.configuration.http.isEnabled = true
    ground.configuration.http.servesFeeds = false
    ground.configuration.http.server.port = 0
    return ground
  }

  /// The metrics, once they contain the wanted texts and not the unwanted one.
  private static func metrics(
    at url: borrowing Mutex<String>,
    with wanted: String...,
    without unwanted: String? = nil
  ) async throws -> String {
    let port = try await until("the daemon serves") {
      Int(url.withLock { $0 }.split(separator: ":").last ?? "")
    }
    return try await until("the metrics have \(wanted)") {
      let client = try HTTPTestClient(port: port)
      try client.request("GET /metrics", "Connection: close")
      let text = try client.response().text
      let isEarly = unwanted.map { text.contains($0) } ?? false
      return !isEarly && wanted.allSatisfy { text.contains($0) } ? text : nil
    }
  }

  private static func expect(_ line: String, in text: String) {
    // Shows the actual line if the expected one is missing.
    let name = line.prefix { $0 != " " && $0 != "{" }
    let found = text.split(separator: "\n").filter { $0.hasPrefix(name) }
    #expect(found.contains { $0 == line }, "\(line), but there is \(found)")
  }

  /// The notices up to the one that announces the stop.
  private static func notices(
    of supervisor: TestSupervisor,
    on thread: WorkerThread,
    onNotice: @escaping @Sendable (String) -> Void
  ) async throws -> [String] {
    try await withTaskExecutorPreference(thread) { @concurrent in
      var notices: [String] = []
      while notices.last?.contains("STOPPING=1") != true {
        let notice = try supervisor.receive()
        onNotice(notice)
        notices.append(notice)
      }
      return notices
    }
  }
}
