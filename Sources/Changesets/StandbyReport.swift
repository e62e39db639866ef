package import Service

/// What is told of the partitions that a ``StandbyChoice`` chooses: figures at any time, and what there is to log, once each.
package struct StandbyReport: Sendable {
  package var figures = StandbyFigures()
  /// Partitions whose excess was told, and those of which it was told that they are followed.
  private var toldTooLarge: Set<Int32> = []
  private var toldFollowed: [Int32] = []

  package init() {}

  /// A worker has taken a partition over.
  package mutating func countTakeover(isWarm: Bool) {
    if isWarm { figures.warmTakeovers += 1 } else { figures.coldTakeovers += 1 }
  }

  /// Takes the choice into the figures.
  ///
  /// - Parameter lag: how many offsets of the partitions that are followed or read are not read yet.
  package mutating func update(_ choice: StandbyChoice, lag: Int64) {
    figures.followed = choice.numbers { $0 == .followed }
    figures.reading = choice.numbers { $0 == .reading || $0 == .waiting }
    figures.tooLarge = choice.numbers { if case .tooLarge = $0 { true } else { false } }
    figures.damaged = choice.numbers { $0 == .damaged }
    figures.bytes = choice.bytes
    figures.lag = lag
  }

  /// The partitions among those that were given up for lack of room of which that was not told yet.
  package mutating func newlyTooLarge(_ numbers: [Int32]) -> [Int32] {
    numbers.filter { toldTooLarge.insert($0).inserted }
  }

  /// Whether everything is followed that is to be, and other partitions than when that was so last.
  package mutating func isNewlyUpToDate() -> Bool {
    toldTooLarge.subtract(figures.followed)
    guard figures.reading.isEmpty, figures.followed != toldFollowed else { return false }
    toldFollowed = figures.followed
    return true
  }
}

/// What a process follows besides the partitions that its workers have, for whoever asks at any time.
package struct StandbyFigures: Sendable, Equatable {
  /// Partitions that are followed: taking them over needs only what was published last.
  package var followed: [Int32] = []
  /// Partitions that are being read from their beginnings.
  package var reading: [Int32] = []
  /// Partitions that there is no room for.
  package var tooLarge: [Int32] = []
  /// Partitions that have a record which does not fit.
  package var damaged: [Int32] = []
  /// The state of those that are followed or read, in bytes by the formula of `StateSize`.
  package var bytes = 0
  /// Offsets of those that are not read yet, as far as brokers have told.
  package var lag: Int64 = 0
  /// Records of the changesets topic that were read, and bytes of their keys and values.
  package var records = 0
  package var recordBytes = 0
  /// Partitions that workers took over from here, and those that they had to read from their beginnings.
  package var warmTakeovers = 0
  package var coldTakeovers = 0

  package init() {}
}

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
