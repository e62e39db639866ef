package import Service

/// Statistics and log lines about the partitions that a ``StandbyChoice`` chooses.
package struct StandbyReport: Sendable {
  package var figures = StandbyFigures()
  /// Partitions that were logged as too large, and those that were logged as followed.
  private var loggedTooLarge: Set<Int32> = []
  private var loggedFollowed: [Int32] = []

  package init() {}

  /// A worker has taken a partition over.
  package mutating func countTakeover(isWarm: Bool) {
    if isWarm { figures.warmTakeovers += 1 } else { figures.coldTakeovers += 1 }
  }

  /// - Parameter lag: how many offsets of the partitions that are followed or read are not read yet.
  package mutating func update(_ choice: StandbyChoice, lag: Int64) {
    figures.followed = choice.numbers { $0 == .followed }
    figures.reading = choice.numbers { $0 == .reading || $0 == .waiting }
    figures.tooLarge = choice.numbers { if case .tooLarge = $0 { true } else { false } }
    figures.damaged = choice.numbers { $0 == .damaged }
    figures.bytes = choice.bytes
    figures.lag = lag
  }

  /// Those of the partitions that were given up for lack of room that have not been logged yet.
  package mutating func newlyTooLarge(_ numbers: [Int32]) -> [Int32] {
    numbers.filter { loggedTooLarge.insert($0).inserted }
  }

  /// Whether everything on standby is followed, and not the same partitions as the last time.
  package mutating func isNewlyUpToDate() -> Bool {
    loggedTooLarge.subtract(figures.followed)
    guard figures.reading.isEmpty, figures.followed != loggedFollowed else { return false }
    loggedFollowed = figures.followed
    return true
  }
}

/// What a process follows besides the partitions of its workers.
package struct StandbyFigures: Sendable, Equatable {
  /// Partitions that are followed up to their ends, so that a takeover has little left to read.
  package var followed: [Int32] = []
  /// Partitions that are being read from their beginnings.
  package var reading: [Int32] = []
  /// Partitions that do not fit into the bound.
  package var tooLarge: [Int32] = []
  /// Partitions with a record that is malformed or does not fit.
  package var damaged: [Int32] = []
  /// The state of those that are followed or read, in bytes by the formula of `StateSize`.
  package var bytes = 0
  /// Their offsets that have not been read yet, as far as brokers have reported.
  package var lag: Int64 = 0
  /// Records of the changesets topic that were read, and bytes of their keys and values.
  package var records = 0
  package var recordBytes = 0
  /// Partitions that workers continued from here, and those that they read from their beginnings.
  package var warmTakeovers = 0
  package var coldTakeovers = 0

  package init() {}
}

/// A change of partitions on standby to log.
package enum StandbyNews: Equatable {
  case tooLarge(Int32, limit: Int)
  case damaged(Int32, reason: String)
  case restarted(Int32, position: Int64)
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
    case .restarted(let number, let position):
      write(
        .standbyPartitionRestarted,
        "a partition on standby was truncated or recreated; reading it from its beginning",
        ["partition": number, "position": position]
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
