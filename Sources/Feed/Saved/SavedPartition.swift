/// How far a partition of the changesets topic was read when it was saved.
package struct SavedPartition: Sendable, Equatable {
  package var number: Int32
  /// Everything before it was read, but for the feeds that are `behind`.
  package var position: Int64
  /// Feeds of which a changeset had come in part, and the offset of its first part: they are read from there.
  package var behind: [ByteText: Int64]
  /// Whatever is at `position` and after it was written after this time, in milliseconds since 1970.
  package var asOf: Int64

  package init(number: Int32, position: Int64, behind: [ByteText: Int64], asOf: Int64) {
    self.number = number
    self.position = position
    self.behind = behind
    self.asOf = asOf
  }

  /// The offset to begin reading at.
  package var firstOffset: Int64 { min(position, behind.values.min() ?? position) }
}
