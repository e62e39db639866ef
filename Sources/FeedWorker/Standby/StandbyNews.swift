package import Service

/// What there is to log of partitions on standby.
package enum StandbyNews: Equatable {
  case tooLarge(Int32, limit: Int)
  case damaged(Int32, reason: String)
  case upToDate(followed: Int, bytes: Int)
}

extension Log {
  package func write(_ news: StandbyNews) {
    switch news {
    case .tooLarge(let number, let limit):
      write(
        .standbyPartitionTooLarge,
        "a partition exceeds standby.maxBytes and is not followed",
        ["partition": number, "limit": LogFigure.bytes(limit)]
      )
    case .damaged(let number, let reason):
      write(
        .standbyPartitionDamaged,
        "a partition on standby cannot be read and is no longer followed",
        ["partition": number, "error": reason]
      )
    case .upToDate(let count, let bytes):
      write(
        .standbyReady,
        "standby is up to date",
        ["followed": count, "state": LogFigure.bytes(bytes)]
      )
    }
  }
}
