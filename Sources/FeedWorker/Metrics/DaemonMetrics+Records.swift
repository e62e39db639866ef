import Feed
import FeedKafka
import FeedStore
import Kafka
import Service

/// What comes in and what goes out.
extension DaemonMetrics {
  func input(_ sum: WorkerFigures, waiting: Int) -> [MetricFamily] {
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

  static func output(_ sum: WorkerFigures) -> [MetricFamily] {
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

  static func transactions(_ sum: WorkerFigures) -> [MetricFamily] {
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
