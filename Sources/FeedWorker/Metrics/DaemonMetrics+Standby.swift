import Service

/// What is followed besides the partitions of the workers.
extension DaemonMetrics {
  static func standby(_ figures: StandbyFigures) -> [MetricFamily] {
    [
      family(
        .gauge,
        "feedstore_standby_partitions",
        "Partitions of other members, by what standby does with them."
      ) {
        $0.add(figures.followed.count, ["state": "followed"])
        $0.add(figures.reading.count, ["state": "reading"])
        $0.add(figures.tooLarge.count, ["state": "too-large"])
        $0.add(figures.damaged.count, ["state": "damaged"])
      },
      one(
        .gauge,
        "feedstore_standby_state_bytes",
        unit: "bytes",
        "What counts for standby.maxBytes.",
        figures.bytes
      ),
      one(
        .gauge,
        "feedstore_standby_lag_records",
        "Offsets of the followed partitions that have not been read yet.",
        figures.lag
      ),
      one(
        .counter,
        "feedstore_standby_records",
        "Records of the changesets topic that were read to follow partitions of other members.",
        figures.records
      ),
      one(
        .counter,
        "feedstore_standby_record_bytes",
        unit: "bytes",
        "Bytes of keys and values of these records.",
        figures.recordBytes
      ),
      family(
        .counter,
        "feedstore_standby_takeovers",
        "Partitions that began to be restored, by whether they had been followed."
      ) {
        $0.add(figures.warmTakeovers, ["from": "standby"])
        $0.add(figures.coldTakeovers, ["from": "topic"])
      },
    ]
  }
}
