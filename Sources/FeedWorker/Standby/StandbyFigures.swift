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
