import FeedStore
import Kafka
import Service

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

  func readiness(_ workers: [WorkerFigures], _ sum: WorkerFigures) -> [MetricFamily] {
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

  func state(_ sum: WorkerFigures) -> [MetricFamily] {
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

  static func restore(_ sum: WorkerFigures) -> [MetricFamily] {
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
