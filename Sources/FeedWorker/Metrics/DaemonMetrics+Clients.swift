import Changesets
import Service

/// What the daemon's clients and its own HTTP server count.
extension DaemonMetrics {
  static func clients(_ sum: WorkerStatistics) -> [MetricFamily] {
    let clients = ClientKind.allCases.compactMap { kind in sum.clients[kind].map { (kind.rawValue, $0) } }
    func queue(
      _ name: String,
      unit: String = "",
      _ help: String,
      _ value: (ClientTotals) -> Int
    ) -> MetricFamily {
      family(.gauge, name, unit: unit, help) {
        for (client, statistics) in clients { $0.add(value(statistics), ["client": client]) }
      }
    }
    func perBroker(
      _ kind: MetricKind,
      _ name: String,
      _ help: String,
      _ value: (ClientTotals.Broker) -> Int
    ) -> MetricFamily {
      family(kind, name, help) { family in
        for (client, statistics) in clients {
          for (number, broker) in statistics.brokers.sorted(by: { $0.key < $1.key }) {
            family.add(value(broker), ["client": client, "broker": Self.name(number)])
          }
        }
      }
    }
    return [
      queue("feedstore_kafka_queued_operations", "Events that wait for a worker to poll.") {
        $0.queuedOperations
      },
      queue(
        "feedstore_kafka_queued_messages",
        "Records that consumers have prefetched, or that producers have yet to send."
      ) { $0.queuedMessages },
      queue("feedstore_kafka_queued_bytes", unit: "bytes", "Bytes of these records.") { $0.queuedBytes },
      perBroker(.gauge, "feedstore_kafka_queued_requests", "Requests that wait to be sent.") {
        $0.queuedRequests
      },
      perBroker(.gauge, "feedstore_kafka_requests_in_flight", "Requests that wait for their responses.") {
        $0.requestsInFlight
      },
      perBroker(
        .counter,
        "feedstore_kafka_request_errors",
        "Requests that could not be sent, and responses that could not be read."
      ) { $0.errors },
      perBroker(.counter, "feedstore_kafka_request_timeouts", "Requests that timed out.") {
        $0.timeouts
      },
      perBroker(.counter, "feedstore_kafka_request_retries", "Requests that were retried.") { $0.retries },
      perBroker(
        .counter,
        "feedstore_kafka_disconnects",
        "Connections to brokers that were lost or could not be made."
      ) { $0.disconnects },
      family(
        .summary,
        "feedstore_kafka_round_trip_seconds",
        unit: "seconds",
        "Time from a request to its response; quantiles of the last seconds, the maximum over all workers."
      ) { family in
        for (client, statistics) in clients {
          for (number, broker) in statistics.brokers.sorted(by: { $0.key < $1.key }) {
            family.add(
              sum: broker.roundTripSum,
              count: broker.roundTrips,
              quantiles: [(0.5, broker.roundTripMedian), (0.99, broker.roundTripPercentile99)],
              ["client": client, "broker": Self.name(number)]
            )
          }
        }
      },
    ]
  }

  static func http(_ counters: HTTPCounters) -> [MetricFamily] {
    [
      family(.counter, "feedstore_http_requests", "HTTP requests that were answered, by status.") {
        for (status, count) in counters.requestsByStatus.sorted(by: { $0.key < $1.key }) {
          $0.add(count, ["status": String(status)])
        }
      },
      one(.gauge, "feedstore_http_connections", "HTTP connections that are open.", counters.openConnections),
      one(.gauge, "feedstore_http_streams", "Streams of changes that are open.", counters.openStreams),
      one(
        .counter,
        "feedstore_http_streams_opened",
        "Streams of changes that were opened.",
        counters.streams
      ),
      one(
        .gauge,
        "feedstore_http_queued_bytes",
        unit: "bytes",
        "Bytes that are queued for readers of streams.",
        counters.queuedBytes
      ),
      one(
        .counter,
        "feedstore_http_events_queued",
        "Messages that were queued for readers of streams.",
        counters.queuedEvents
      ),
      one(
        .counter,
        "feedstore_http_events_dropped",
        "Messages that were dropped because their reader was too slow.",
        counters.refusedEvents
      ),
      one(
        .counter,
        "feedstore_http_content_bytes",
        unit: "bytes",
        "Bytes of content passed on for sending.",
        counters.contentBytes
      ),
    ]
  }

  /// Connections to addresses from the configuration have no number yet.
  private static func name(_ broker: Int32) -> String { broker < 0 ? "bootstrap" : String(broker) }
}

/// Partitions of other workers that this process follows.
extension DaemonMetrics {
  static func standby(_ statistics: StandbyStatus) -> [MetricFamily] {
    [
      family(
        .gauge,
        "feedstore_standby_partitions",
        "Partitions of other members, by what standby does with them."
      ) {
        $0.add(statistics.followed.count, ["state": "followed"])
        $0.add(statistics.reading.count, ["state": "reading"])
        $0.add(statistics.tooLarge.count, ["state": "too-large"])
        $0.add(statistics.damaged.count, ["state": "damaged"])
      },
      one(
        .gauge,
        "feedstore_standby_state_bytes",
        unit: "bytes",
        "What counts for standby.maxBytes.",
        statistics.bytes
      ),
      one(
        .gauge,
        "feedstore_standby_lag_records",
        "Offsets of the followed partitions that have not been read yet.",
        statistics.lag
      ),
      one(
        .counter,
        "feedstore_standby_records",
        "Records of the changesets topic that were read to follow partitions of other members.",
        statistics.records
      ),
      one(
        .counter,
        "feedstore_standby_record_bytes",
        unit: "bytes",
        "Bytes of keys and values of these records.",
        statistics.recordBytes
      ),
      family(
        .counter,
        "feedstore_standby_takeovers",
        "Partitions that began to be restored, by whether they had been followed."
      ) {
        $0.add(statistics.warmTakeovers, ["from": "standby"])
        $0.add(statistics.coldTakeovers, ["from": "topic"])
      },
    ]
  }
}
