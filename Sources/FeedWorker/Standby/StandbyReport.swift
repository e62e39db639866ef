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
