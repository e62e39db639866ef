import Changesets
import Feed
import FeedKafka
package import FeedStore
import Kafka
package import Service

/// Puts together what `GET /metrics` answers (docs/http.md). Nothing in it grows with the number of feeds.
package struct DaemonMetrics: Sendable {
  let status: DaemonStatus
  let topics: TopicNames
  /// `limits.maxStateBytes`.
  let stateLimit: Int
  /// Ids that several of the partitions that are served have; nil if none are served.
  let sharedIDs: (@Sendable () -> Int)?
  let health: @Sendable () -> DaemonHealth
  let http: @Sendable () -> HTTPCounters

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

  /// What there is now.
  package var families: [MetricFamily] {
    let workers = status.workers
    let statistics = workers.map(\.statistics)
    let sum = statistics.reduce(into: WorkerStatistics()) { $0.add($1) }
    return Self.build + readiness(statistics, sum)
      + input(sum, waiting: workers.reduce(0) { $0 + $1.waitingRecords })
      + Self.output(sum) + Self.transactions(sum) + state(sum) + Self.restore(sum)
      + (status.standby.map { Self.standby($0.status) } ?? []) + Self.clients(sum)
      + Self.http(http()) + Self.process(ProcessUsage.read())
  }

  static func family(
    _ kind: MetricKind,
    _ name: String,
    unit: String = "",
    _ help: String,
    _ add: (inout MetricFamily) -> Void
  ) -> MetricFamily {
    var family = MetricFamily(kind, name, unit: unit, help: help)
    add(&family)
    return family
  }

  static func one(
    _ kind: MetricKind,
    _ name: String,
    unit: String = "",
    _ help: String,
    _ value: some BinaryInteger
  ) -> MetricFamily {
    family(kind, name, unit: unit, help) { $0.add(value) }
  }
}

/// What comes in and what goes out.
extension DaemonMetrics {
  func input(_ sum: WorkerStatistics, waiting: Int) -> [MetricFamily] {
    // Both topics are there from the beginning, so that rates are.
    var amounts = sum.input
    for topic in topics.inputs { amounts[topic, default: TakenInput.Amount()].records += 0 }
    let sorted = amounts.sorted { $0.key < $1.key }
    return [
      Self.family(.counter, "feedstore_input_records", "Input records that were applied and committed.") {
        family in
        for (topic, amount) in sorted { family.add(amount.records, ["topic": topic]) }
      },
      Self.family(
        .counter,
        "feedstore_input_bytes",
        unit: "bytes",
        "Bytes of keys and values of these records."
      ) {
        for (topic, amount) in sorted { $0.add(amount.bytes, ["topic": topic]) }
      },
      Self.one(.counter, "feedstore_input_events", "Events of these records.", sum.counters.events),
      Self.family(.counter, "feedstore_rejected_records", "Input records that were rejected, by error code.")
      {
        for code in RejectCode.allCases { $0.add(sum.counters.rejects[code] ?? 0, ["code": code.rawValue]) }
      },
      Self.family(.counter, "feedstore_noops", "Events and records that changed nothing, by reason.") {
        for reason in NoOpReason.allCases {
          $0.add(sum.counters.noOps[reason] ?? 0, ["reason": reason.rawValue])
        }
      },
      Self.family(
        .counter,
        "feedstore_ignored_fields",
        "Fields of events that had no effect, by operation and field."
      ) {
        for (name, count) in sum.ignoredFields.sorted(by: {
          ($0.key.operation, $0.key.field) < ($1.key.operation, $1.key.field)
        }) {
          $0.add(count, ["operation": name.operation, "field": name.field])
        }
      },
      Self.one(
        .gauge,
        "feedstore_waiting_records",
        "Records that were read but are not committed yet.",
        waiting
      ),
      Self.family(
        .gauge,
        "feedstore_input_lag_records",
        "Input records that are not committed yet, as far as the brokers have reported."
      ) { family in
        let lags = sum.inputLag.sorted { ($0.key.topic, $0.key.partition) < ($1.key.topic, $1.key.partition) }
        for (place, lag) in lags {
          family.add(lag, ["topic": place.topic, "partition": String(place.partition)])
        }
      },
    ]
  }

  static func output(_ sum: WorkerStatistics) -> [MetricFamily] {
    let counters = sum.counters
    return [
      family(
        .counter,
        "feedstore_changesets",
        "Changesets that were published, by mode, and reloads by reason."
      ) {
        for mode in ChangesetMode.allCases where mode != .reload {
          $0.add(counters.changesets[mode] ?? 0, ["mode": mode.rawValue, "reason": ""])
        }
        for reason in ReloadReason.allCases {
          $0.add(
            counters.reloads[reason] ?? 0,
            ["mode": ChangesetMode.reload.rawValue, "reason": reason.rawValue]
          )
        }
      },
      family(.counter, "feedstore_changeset_entries", "Entries of published differences, by kind.") {
        $0.add(counters.entries.deletes, ["kind": "delete"])
        $0.add(counters.entries.inserts, ["kind": "insert"])
        $0.add(counters.entries.moves, ["kind": "move"])
        $0.add(counters.entries.reconfigures, ["kind": "reconfigure"])
        $0.add(counters.entries.reloads, ["kind": "reload"])
      },
      one(
        .counter,
        "feedstore_output_records",
        "Records that were written to the changesets topic, nulls included.",
        counters.outputRecords
      ),
      one(
        .counter,
        "feedstore_output_bytes",
        unit: "bytes",
        "Bytes of keys and values of these records.",
        counters.outputBytes
      ),
    ]
  }

  static func transactions(_ sum: WorkerStatistics) -> [MetricFamily] {
    [
      one(.counter, "feedstore_flushes", "Windows that were published.", sum.counters.flushes),
      family(
        .histogram,
        "feedstore_flush_duration_seconds",
        unit: "seconds",
        "Time from the start of a flush to its commit."
      ) {
        $0.add(sum.flushes.whole)
      },
      family(
        .histogram,
        "feedstore_flush_stage_duration_seconds",
        unit: "seconds",
        "Time that each stage of a flush took."
      ) {
        for stage in FlushStage.allCases {
          if let histogram = sum.flushes.stages[stage] { $0.add(histogram, ["stage": stage.rawValue]) }
        }
      },
      family(
        .histogram,
        "feedstore_commit_delay_seconds",
        unit: "seconds",
        "Time from an input record's timestamp to the commit of its changes."
      ) { $0.add(sum.delays) },
      family(.counter, "feedstore_transactions", "Transactions, by outcome.") {
        for outcome in TransactionOutcome.allCases {
          $0.add(sum.transactions[outcome] ?? 0, ["outcome": outcome.rawValue])
        }
      },
      one(
        .gauge,
        "feedstore_transactions_withdrawn_in_a_row",
        "Transactions that were withdrawn since the last commit; the maximum over all workers.",
        sum.withdrawnInARow
      ),
      family(
        .gauge,
        "feedstore_last_commit_timestamp_seconds",
        unit: "seconds",
        "When a transaction was committed last, in seconds since 1970; 0 if none was."
      ) { $0.add(Double(sum.lastCommit) / 1_000) },
      family(.counter, "feedstore_producers_replaced", "Producers that were replaced, by reason.") {
        for reason in ReplacementReason.allCases {
          $0.add(sum.replacements[reason] ?? 0, ["reason": reason.rawValue])
        }
      },
    ]
  }
}

/// What the daemon is and has.
extension DaemonMetrics {
  static var build: [MetricFamily] {
    [
      family(.info, "feedstore_build", "The version of FeedStore, its commit, and the version of librdkafka.")
      {
        $0.add(
          1,
          ["version": Release.version, "commit": Release.commit, "librdkafka": Librdkafka.version]
        )
      }
    ]
  }

  func readiness(_ workers: [WorkerStatistics], _ sum: WorkerStatistics) -> [MetricFamily] {
    [
      Self.one(.gauge, "feedstore_ready", "Whether /readyz returns 200.", health().isReady ? 1 : 0),
      Self.family(.gauge, "feedstore_workers", "Workers, by state.") {
        for phase in WorkerPhase.allCases {
          $0.add(workers.count { $0.phase == phase }, ["state": phase.rawValue])
        }
      },
      Self.one(
        .gauge,
        "feedstore_partitions_owned",
        "Partitions assigned to this process.",
        sum.partitions.count
      ),
      Self.one(
        .gauge,
        "feedstore_partitions_restoring",
        "Partitions whose feeds are being restored.",
        sum.restoring.count
      ),
      Self.one(
        .gauge,
        "feedstore_partitions_stopped",
        "Partitions whose feeds could not be restored.",
        sum.stopped.count
      ),
      Self.one(
        .gauge,
        "feedstore_topics_changed",
        "Topics whose number of partitions has changed.",
        status.topicChanges.count
      ),
      Self.family(
        .counter,
        "feedstore_rebalances",
        "Rebalances, by what happened to the partitions; counted once per worker."
      ) {
        for kind in RebalanceKind.allCases { $0.add(sum.rebalances[kind] ?? 0, ["kind": kind.rawValue]) }
      },
    ]
  }

  func state(_ sum: WorkerStatistics) -> [MetricFamily] {
    [
      Self.one(.gauge, "feedstore_feeds", "Feeds that exist.", sum.content.feeds),
      Self.one(
        .gauge,
        "feedstore_feed_ids_in_several_partitions",
        "Feed ids that several partitions have, which is a mistake of producers.",
        sharedIDs?() ?? sum.content.sharedIDs
      ),
      Self.one(.gauge, "feedstore_sections", "Sections of all feeds.", sum.content.sections),
      Self.one(.gauge, "feedstore_items", "Items of all feeds.", sum.content.items),
      Self.one(
        .gauge,
        "feedstore_state_bytes",
        unit: "bytes",
        "What counts for limits.maxStateBytes.",
        sum.content.bytes
      ),
      Self.one(.gauge, "feedstore_state_limit_bytes", unit: "bytes", "limits.maxStateBytes.", stateLimit),
    ]
  }

  static func restore(_ sum: WorkerStatistics) -> [MetricFamily] {
    [
      one(
        .counter,
        "feedstore_restore_records",
        "Records of the changesets topic that were read to restore feeds.",
        sum.restore.records
      ),
      one(
        .counter,
        "feedstore_restore_bytes",
        unit: "bytes",
        "Bytes of keys and values of these records.",
        sum.restore.bytes
      ),
      one(
        .gauge,
        "feedstore_restore_remaining_records",
        "Records that are still to be read to restore feeds.",
        sum.restore.remaining
      ),
      family(
        .histogram,
        "feedstore_restore_duration_seconds",
        unit: "seconds",
        "Time from an assignment to the end of restoring."
      ) { $0.add(sum.restore.seconds) },
    ]
  }

  static func process(_ usage: ProcessUsage) -> [MetricFamily] {
    [
      family(.counter, "process_cpu_seconds", unit: "seconds", "Processor time, user and system.") {
        $0.add(usage.cpuSeconds)
      },
      one(.gauge, "process_resident_memory_bytes", unit: "bytes", "Memory in use.", usage.residentBytes),
      one(.gauge, "process_virtual_memory_bytes", unit: "bytes", "Address space.", usage.virtualBytes),
      one(.gauge, "process_open_fds", "Open files and sockets.", usage.openDescriptors),
      one(.gauge, "process_max_fds", "Maximum number of open files and sockets.", usage.maxDescriptors),
      one(.gauge, "process_threads", "Threads.", usage.threads),
      family(
        .gauge,
        "process_start_time_seconds",
        unit: "seconds",
        "When the process was started, in seconds since 1970."
      ) { $0.add(usage.startSeconds) },
      one(
        .gauge,
        "feedstore_memory_limit_bytes",
        unit: "bytes",
        "Memory limit: the smallest of the control groups' limits and the machine's memory.",
        usage.memoryLimitBytes
      ),
    ]
  }
}
