import Changesets
package import Diagnostics
package import Feed
import FeedKafka
package import FeedStore
package import HTTP
package import Kafka

/// The partitions and the counters of one worker.
package struct WorkerStatistics: Sendable {
  package var phase = WorkerPhase.starting
  /// The numbers of the assigned partitions.
  package var partitions: Set<Int32> = []
  /// The assigned partitions whose feeds are being restored.
  package var restoring: Set<Int32> = []
  /// The assigned partitions whose feeds could not be restored.
  package var stopped: Set<Int32> = []
  /// The number of unpublished input records, where known.
  package var inputLag: [TopicPartition: Int64] = [:]
  /// The counters of publications.
  package var counters = StoreCounters()
  /// The outcomes of the rows of each source of `feedstore ingest`.
  package var rows: [String: [String: Int]] = [:]
  /// The committed amounts of each input topic.
  package var input: [String: TakenInput.Amount] = [:]
  /// From a record's timestamp to its commit, in seconds.
  package var delays = Histogram(Self.delayBounds)
  package var flushes = FlushSeconds()
  package var transactions: [TransactionOutcome: Int] = [:]
  /// The age of the oldest change of a content that is not shown everywhere, in milliseconds.
  package var contentsDelay: Int64 = 0
  /// The number of withdrawn transactions since the last committed one.
  package var withdrawnInARow = 0
  /// The time of the last commit, in milliseconds since 1970 UTC; 0 before the first.
  var lastCommit: Int64 = 0
  /// Fields of events without effect, with their counts.
  package var ignoredFields: [IgnoredFields.Name: Int] = [:]
  package var rebalances: [RebalanceKind: Int] = [:]
  package var replacements: [ReplacementReason: Int] = [:]
  package var content = StoreContent()
  package var restore = RestoreStatistics()
  package var clients: [ClientKind: ClientTotals] = [:]

  private static let delayBounds = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
  ]

  /// The lag by partition number, of both input topics together.
  package var lagByNumber: [Int32: Int64] {
    inputLag.reduce(into: [:]) { $0[$1.key.partition, default: 0] += $1.value }
  }

  /// Adds a transaction's rows, by their topics and outcomes: a word, or the code of a rejection.
  package mutating func add(_ rows: [String: [String: Int]]) {
    counters.flushes += 1
    self.rows.merge(rows) { $0.merging($1, uniquingKeysWith: +) }
    for code in RejectCode.allCases {
      counters.rejects[code] = self.rows.values.reduce(0) { $0 + ($1[code.rawValue] ?? 0) }
    }
  }

  package mutating func add(_ other: WorkerStatistics) {
    partitions.formUnion(other.partitions)
    restoring.formUnion(other.restoring)
    stopped.formUnion(other.stopped)
    inputLag.merge(other.inputLag) { max($0, $1) }
    counters.add(other.counters)
    rows.merge(other.rows) { $0.merging($1, uniquingKeysWith: +) }
    for (topic, amount) in other.input { input[topic, default: TakenInput.Amount()] += amount }
    delays.add(other.delays)
    flushes.add(other.flushes)
    transactions.merge(other.transactions, uniquingKeysWith: +)
    withdrawnInARow = max(withdrawnInARow, other.withdrawnInARow)
    contentsDelay = max(contentsDelay, other.contentsDelay)
    lastCommit = max(lastCommit, other.lastCommit)
    ignoredFields.merge(other.ignoredFields, uniquingKeysWith: +)
    rebalances.merge(other.rebalances, uniquingKeysWith: +)
    replacements.merge(other.replacements, uniquingKeysWith: +)
    content.add(other.content)
    restore.add(other.restore)
    for (kind, client) in other.clients { clients[kind, default: ClientTotals()].add(client) }
  }
}

/// Puts together what `GET /metrics` answers (docs/monitor.md). Nothing in it grows with the number of feeds.
package struct DaemonMetrics: Sendable {
  package let status: DaemonStatus
  package let topics: TopicNames
  package let stateLimit: Int
  /// The number of ids in several of the served partitions; nil if none are served.
  package let sharedIDs: (@Sendable () -> Int)?
  package let health: @Sendable () -> DaemonHealth
  package let http: @Sendable () -> HTTPCounters

  package init(
    status: DaemonStatus,
    topics: TopicNames,
    stateLimit: Int,
    sharedIDs: (@Sendable () -> Int)?,
    health: @escaping @Sendable () -> DaemonHealth,
    http: @escaping @Sendable () -> HTTPCounters
  ) {
    self.status = status
    self.topics = topics
    self.stateLimit = stateLimit
    self.sharedIDs = sharedIDs
    self.health = health
    self.http = http
  }

  /// The current metrics.
  package var families: [MetricFamily] {
    let workers = status.workers.map { (statistics: $0.statistics, waiting: $0.waitingRecords) }
    let sum = workers.reduce(into: WorkerStatistics()) { $0.add($1.statistics) }
    var table = MetricTable()
    for phase in WorkerPhase.allCases {
      table["feedstore_workers"].add(
        workers.count { $0.statistics.phase == phase },
        ["state": phase.rawValue]
      )
    }
    table["feedstore_waiting_records"].add(workers.reduce(0) { $0 + $1.waiting })
    addReadiness(sum, to: &table)
    addInput(sum, to: &table)
    Self.addOutput(sum.counters, to: &table)
    Self.addTransactions(sum, to: &table)
    addState(sum, to: &table)
    if let standby = status.standby { Self.add(standby.status, to: &table) }
    for kind in ClientKind.allCases {
      if let client = sum.clients[kind] { Self.add(client, kind.rawValue, to: &table) }
    }
    Self.add(http(), to: &table)
    Self.add(ProcessUsage.read(), to: &table)
    return table.families
  }

  private func addReadiness(_ sum: WorkerStatistics, to table: inout MetricTable) {
    table["feedstore_build"].add(
      1,
      ["version": Release.version, "commit": Release.commit, "librdkafka": Librdkafka.version]
    )
    table["feedstore_ready"].add(health().isReady ? 1 : 0)
    table["feedstore_broker_token_failed"].add(status.tokens?.failure == nil ? 0 : 1)
    table["feedstore_partitions_owned"].add(sum.partitions.count)
    table["feedstore_partitions_restoring"].add(sum.restoring.count)
    table["feedstore_partitions_stopped"].add(sum.stopped.count)
    table["feedstore_topics_changed"].add(status.topicChanges.count)
    table["feedstore_configuration_reload_failed"].add(status.updater?.failure == nil ? 0 : 1)
    table["feedstore_rebalances"].add(sum.rebalances, by: "kind")
  }

  private func addInput(_ sum: WorkerStatistics, to table: inout MetricTable) {
    // Both topics are present from the beginning, so that their rates are, too.
    var amounts = sum.input
    for topic in topics.inputs { amounts[topic, default: TakenInput.Amount()].records += 0 }
    for (topic, amount) in amounts.sorted(by: { $0.key < $1.key }) {
      table["feedstore_input_records"].add(amount.records, ["topic": topic])
      table["feedstore_input_bytes"].add(amount.bytes, ["topic": topic])
    }
    table["feedstore_input_events"].add(sum.counters.events)
    table["feedstore_rejected_records"].add(sum.counters.rejects, by: "code")
    for (topic, counts) in sum.rows.sorted(by: { $0.key < $1.key }) {
      for (outcome, count) in counts.sorted(by: { $0.key < $1.key }) {
        table["feedstore_ingest_rows"].add(count, ["topic": topic, "outcome": outcome])
      }
    }
    table["feedstore_noops"].add(sum.counters.noOps, by: "reason")
    table["feedstore_cut_items"].add(sum.counters.cutItems)
    table["feedstore_ended_items"].add(sum.counters.endedItems)
    let fields = sum.ignoredFields.sorted {
      ($0.key.operation, $0.key.field) < ($1.key.operation, $1.key.field)
    }
    for (name, count) in fields {
      table["feedstore_ignored_fields"].add(count, ["operation": name.operation, "field": name.field])
    }
    let lags = sum.inputLag.sorted { ($0.key.topic, $0.key.partition) < ($1.key.topic, $1.key.partition) }
    for (place, lag) in lags {
      table["feedstore_input_lag_records"].add(
        lag,
        ["topic": place.topic, "partition": String(place.partition)]
      )
    }
  }

  private static func addOutput(_ counters: StoreCounters, to table: inout MetricTable) {
    for mode in ChangesetMode.allCases where mode != .reload {
      let labels: KeyValuePairs = ["mode": mode.rawValue, "reason": ""]
      table["feedstore_changesets"].add(counters.changesets[mode] ?? 0, labels)
    }
    for reason in ReloadReason.allCases {
      let labels: KeyValuePairs = ["mode": ChangesetMode.reload.rawValue, "reason": reason.rawValue]
      table["feedstore_changesets"].add(counters.reloads[reason] ?? 0, labels)
    }
    table["feedstore_changeset_entries"].add(counters.entries.deletes, ["kind": "delete"])
    table["feedstore_changeset_entries"].add(counters.entries.inserts, ["kind": "insert"])
    table["feedstore_changeset_entries"].add(counters.entries.moves, ["kind": "move"])
    table["feedstore_changeset_entries"].add(counters.entries.reconfigures, ["kind": "reconfigure"])
    table["feedstore_changeset_entries"].add(counters.entries.reloads, ["kind": "reload"])
    table["feedstore_output_records"].add(counters.outputRecords)
    table["feedstore_output_bytes"].add(counters.outputBytes)
    table["feedstore_flushes"].add(counters.flushes)
  }

  private static func addTransactions(_ sum: WorkerStatistics, to table: inout MetricTable) {
    table["feedstore_flush_duration_seconds"].add(sum.flushes.whole)
    for stage in FlushStage.allCases {
      if let histogram = sum.flushes.stages[stage] {
        table["feedstore_flush_stage_duration_seconds"].add(histogram, ["stage": stage.rawValue])
      }
    }
    table["feedstore_commit_delay_seconds"].add(sum.delays)
    table["feedstore_transactions"].add(sum.transactions, by: "outcome")
    table["feedstore_transactions_withdrawn_in_a_row"].add(sum.withdrawnInARow)
    table["feedstore_last_commit_timestamp_seconds"].add(Double(sum.lastCommit) / 1_000)
    table["feedstore_producers_replaced"].add(sum.replacements, by: "reason")
  }

  private func addState(_ sum: WorkerStatistics, to table: inout MetricTable) {
    table["feedstore_feeds"].add(sum.content.feeds)
    table["feedstore_feed_ids_in_several_partitions"].add(sharedIDs?() ?? sum.content.sharedIDs)
    table["feedstore_sections"].add(sum.content.sections)
    table["feedstore_items"].add(sum.content.items)
    table["feedstore_state_bytes"].add(sum.content.bytes)
    table["feedstore_state_limit_bytes"].add(stateLimit)
    if let contents = status.contents { Self.add(contents, sum, to: &table) }
    table["feedstore_restore_records"].add(sum.restore.records)
    table["feedstore_restore_bytes"].add(sum.restore.bytes)
    table["feedstore_restore_remaining_records"].add(sum.restore.remaining)
    table["feedstore_restore_duration_seconds"].add(sum.restore.seconds)
  }

  private static func add(
    _ contents: ContentsStatistics,
    _ sum: WorkerStatistics,
    to table: inout MetricTable
  ) {
    table["feedstore_contents"].add(contents.count)
    table["feedstore_contents_bytes"].add(contents.bytes)
    table["feedstore_contents_records"].add(contents.records)
    table["feedstore_contents_rejected_records"].add(contents.rejected)
    table["feedstore_contents_remaining_records"].add(contents.remaining)
    table["feedstore_contents_delay_seconds"].add(Double(sum.contentsDelay) / 1_000)
    table["feedstore_content_changes"].add(sum.counters.contents)
    table["feedstore_content_items"].add(sum.counters.shownItems)
    table["feedstore_content_feeds"].add(sum.counters.shownFeeds)
  }

  /// Partitions of other workers that this process follows.
  private static func add(_ standby: StandbyStatus, to table: inout MetricTable) {
    table["feedstore_standby_partitions"].add(standby.followed.count, ["state": "followed"])
    table["feedstore_standby_partitions"].add(standby.reading.count, ["state": "reading"])
    table["feedstore_standby_partitions"].add(standby.tooLarge.count, ["state": "too-large"])
    table["feedstore_standby_partitions"].add(standby.damaged.count, ["state": "damaged"])
    table["feedstore_standby_state_bytes"].add(standby.bytes)
    table["feedstore_standby_lag_records"].add(standby.lag)
    table["feedstore_standby_records"].add(standby.records)
    table["feedstore_standby_record_bytes"].add(standby.recordBytes)
    table["feedstore_standby_takeovers"].add(standby.warmTakeovers, ["from": "standby"])
    table["feedstore_standby_takeovers"].add(standby.coldTakeovers, ["from": "topic"])
  }

  private static func add(_ client: ClientTotals, _ name: String, to table: inout MetricTable) {
    table["feedstore_kafka_queued_operations"].add(client.queuedOperations, ["client": name])
    table["feedstore_kafka_queued_messages"].add(client.queuedMessages, ["client": name])
    table["feedstore_kafka_queued_bytes"].add(client.queuedBytes, ["client": name])
    for (number, broker) in client.brokers.sorted(by: { $0.key < $1.key }) {
      // Connections to configured addresses have no broker number yet.
      let number = number < 0 ? "bootstrap" : String(number)
      let labels: KeyValuePairs = ["client": name, "broker": number]
      table["feedstore_kafka_queued_requests"].add(broker.queuedRequests, labels)
      table["feedstore_kafka_requests_in_flight"].add(broker.requestsInFlight, labels)
      table["feedstore_kafka_request_errors"].add(broker.errors, labels)
      table["feedstore_kafka_request_timeouts"].add(broker.timeouts, labels)
      table["feedstore_kafka_request_retries"].add(broker.retries, labels)
      table["feedstore_kafka_disconnects"].add(broker.disconnects, labels)
      let trips = broker.roundTrips
      table["feedstore_kafka_round_trip_seconds"].add(
        sum: Double(trips.sum) / 1e6,
        count: trips.count,
        quantiles: [(0.5, Double(trips.median) / 1e6), (0.99, Double(trips.percentile99) / 1e6)],
        labels
      )
    }
  }

  private static func add(_ http: HTTPCounters, to table: inout MetricTable) {
    for (status, count) in http.requestsByStatus.sorted(by: { $0.key < $1.key }) {
      table["feedstore_http_requests"].add(count, ["status": String(status)])
    }
    table["feedstore_token_keys_fetch_failed"].add(http.tokenKeys?.failure == nil ? 0 : 1)
    table["feedstore_http_connections"].add(http.openConnections)
    table["feedstore_http_streams"].add(http.openStreams)
    table["feedstore_http_stream_feeds"].add(http.streamedFeeds)
    table["feedstore_http_windows"].add(http.windows)
    table["feedstore_http_streams_opened"].add(http.streams)
    table["feedstore_http_queued_bytes"].add(http.queuedBytes)
    table["feedstore_http_events_queued"].add(http.queuedEvents)
    table["feedstore_http_events_dropped"].add(http.refusedEvents)
    table["feedstore_http_content_bytes"].add(http.contentBytes)
  }

  private static func add(_ process: ProcessUsage, to table: inout MetricTable) {
    table["process_cpu_seconds"].add(process.cpuSeconds)
    table["process_resident_memory_bytes"].add(process.residentBytes)
    table["process_virtual_memory_bytes"].add(process.virtualBytes)
    table["process_open_fds"].add(process.openDescriptors)
    table["process_max_fds"].add(process.maxDescriptors)
    table["process_threads"].add(process.threads)
    table["process_start_time_seconds"].add(process.startSeconds)
    table["feedstore_memory_limit_bytes"].add(process.memoryLimitBytes)
  }
}

extension MetricFamily {
  /// Adds a sample for each value of a label, including those with a count of 0.
  fileprivate mutating func add<Label: CaseIterable & RawRepresentable<String>>(
    _ counts: [Label: Int],
    by label: String
  ) {
    for value in Label.allCases { add(counts[value] ?? 0, [label: value.rawValue]) }
  }
}

/// The daemon's metrics, in the order in which they are written.
struct MetricTable {
  private(set) var families = declared

  /// A family by name, which must be in the table.
  package subscript(name: String) -> MetricFamily {
    get { families[Self.index(of: name)] }
    _modify { yield &families[Self.index(of: name)] }
  }

  private static func index(of name: String) -> Int {
    guard let index = indices[name] else { preconditionFailure("the metric \(name) is not in the table") }
    return index
  }

  private static let indices = Dictionary(uniqueKeysWithValues: zip(declared.map(\.name), declared.indices))

  /// Kind, name and help of each. The unit is at the end of the name.
  static let declared: [MetricFamily] = """
    info feedstore_build The version of FeedStore, its commit, and the version of librdkafka.
    gauge feedstore_ready Whether /readyz returns 200.
    gauge feedstore_broker_token_failed Whether the last attempt to get a token for the brokers failed.
    gauge feedstore_workers Workers, by state.
    gauge feedstore_partitions_owned Partitions assigned to this process.
    gauge feedstore_partitions_restoring Partitions whose feeds are being restored.
    gauge feedstore_partitions_stopped Partitions whose feeds could not be restored.
    gauge feedstore_topics_changed Topics whose number of partitions has changed.
    gauge feedstore_configuration_reload_failed Whether the last reload of the configuration failed.
    gauge feedstore_token_keys_fetch_failed Whether the last fetch of the keys of tokens failed.
    counter feedstore_rebalances Rebalances, by what happened to the partitions; counted once per worker.
    counter feedstore_input_records Input records that were applied and committed.
    counter feedstore_input_bytes Bytes of keys and values of these records.
    counter feedstore_input_events Events of these records.
    counter feedstore_rejected_records Input records that were rejected, by error code.
    counter feedstore_ingest_rows Rows that feedstore ingest has mapped, by topic and outcome.
    counter feedstore_noops Events and records that changed nothing, by reason.
    counter feedstore_cut_items Items that were deleted because their sections keep no more.
    counter feedstore_ended_items Items that were deleted because they had ended.
    gauge feedstore_contents Contents in memory.
    gauge feedstore_contents_bytes Bytes of their ids and values, which limits.maxContentsBytes bounds.
    counter feedstore_contents_records Records read from the contents topic.
    counter feedstore_contents_rejected_records Records of the contents topic that were not valid contents.
    gauge feedstore_contents_remaining_records Records of the contents topic left before restored feeds are served.
    gauge feedstore_contents_delay_seconds Age of the oldest change of a content that is not shown everywhere.
    counter feedstore_content_changes Changes of contents that items show, in each worker.
    counter feedstore_content_items Items that changed because of contents.
    counter feedstore_content_feeds Changes of feeds because of contents, each at most one changeset.
    counter feedstore_ignored_fields Fields of events that had no effect, by operation and field.
    gauge feedstore_waiting_records Records that were read but are not committed yet.
    gauge feedstore_input_lag_records Input records that are not committed yet, as far as the brokers have \
    reported.
    counter feedstore_changesets Changesets that were published, by mode, and reloads by reason.
    counter feedstore_changeset_entries Entries of published differences, by kind.
    counter feedstore_output_records Records that were written to the changesets topic, nulls included.
    counter feedstore_output_bytes Bytes of keys and values of these records.
    counter feedstore_flushes Windows that were published.
    histogram feedstore_flush_duration_seconds Time from the start of a flush to its commit.
    histogram feedstore_flush_stage_duration_seconds Time that each stage of a flush took.
    histogram feedstore_commit_delay_seconds Time from an input record's timestamp to the commit of its \
    changes.
    counter feedstore_transactions Transactions, by outcome.
    gauge feedstore_transactions_withdrawn_in_a_row Transactions that were withdrawn since the last \
    commit; the maximum over all workers.
    gauge feedstore_last_commit_timestamp_seconds When a transaction was committed last, in seconds since \
    1970; 0 if none was.
    counter feedstore_producers_replaced Producers that were replaced, by reason.
    gauge feedstore_feeds Feeds that exist.
    gauge feedstore_feed_ids_in_several_partitions Feed ids that several partitions have, which is a \
    mistake of producers.
    gauge feedstore_sections Sections of all feeds.
    gauge feedstore_items Items of all feeds.
    gauge feedstore_state_bytes What counts for limits.maxStateBytes.
    gauge feedstore_state_limit_bytes limits.maxStateBytes.
    counter feedstore_restore_records Records of the changesets topic that were read to restore feeds.
    counter feedstore_restore_bytes Bytes of keys and values of these records.
    gauge feedstore_restore_remaining_records Records that are still to be read to restore feeds.
    histogram feedstore_restore_duration_seconds Time from an assignment to the end of restoring.
    gauge feedstore_standby_partitions Partitions of other members, by what standby does with them.
    gauge feedstore_standby_state_bytes What counts for standby.maxBytes.
    gauge feedstore_standby_lag_records Offsets of the followed partitions that have not been read yet.
    counter feedstore_standby_records Records of the changesets topic that were read to follow partitions \
    of other members.
    counter feedstore_standby_record_bytes Bytes of keys and values of these records.
    counter feedstore_standby_takeovers Partitions that began to be restored, by whether they had been \
    followed.
    gauge feedstore_kafka_queued_operations Events that wait for a worker to poll.
    gauge feedstore_kafka_queued_messages Records that consumers have prefetched, or that producers have \
    yet to send.
    gauge feedstore_kafka_queued_bytes Bytes of these records.
    gauge feedstore_kafka_queued_requests Requests that wait to be sent.
    gauge feedstore_kafka_requests_in_flight Requests that wait for their responses.
    counter feedstore_kafka_request_errors Requests that could not be sent, and responses that could not \
    be read.
    counter feedstore_kafka_request_timeouts Requests that timed out.
    counter feedstore_kafka_request_retries Requests that were retried.
    counter feedstore_kafka_disconnects Connections to brokers that were lost or could not be made.
    summary feedstore_kafka_round_trip_seconds Time from a request to its response; quantiles of the last \
    seconds, the maximum over all workers.
    counter feedstore_http_requests HTTP requests that were answered, by status.
    gauge feedstore_http_connections HTTP connections that are open.
    gauge feedstore_http_streams Streams of changes that are open.
    gauge feedstore_http_stream_feeds Feeds that streams follow, each counted for each stream.
    gauge feedstore_http_windows Different windows of feeds that are open.
    counter feedstore_http_streams_opened Streams of changes that were opened.
    gauge feedstore_http_queued_bytes Bytes that are queued for readers of streams.
    counter feedstore_http_events_queued Messages that were queued for readers of streams.
    counter feedstore_http_events_dropped Messages that were dropped because their reader was too slow.
    counter feedstore_http_content_bytes Bytes of content passed on for sending.
    counter process_cpu_seconds Processor time, user and system.
    gauge process_resident_memory_bytes Memory in use.
    gauge process_virtual_memory_bytes Address space.
    gauge process_open_fds Open files and sockets.
    gauge process_max_fds Maximum number of open files and sockets.
    gauge process_threads Threads.
    gauge process_start_time_seconds When the process was started, in seconds since 1970.
    gauge feedstore_memory_limit_bytes Memory limit: the smallest of the control groups' limits and the \
    machine's memory.
    """.split(separator: "\n").map { line in
      let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
      guard parts.count == 3, let kind = MetricKind(rawValue: parts[0]) else {
        preconditionFailure("no metric: \(line)")
      }
      return MetricFamily(kind, parts[1], help: parts[2])
    }
}
