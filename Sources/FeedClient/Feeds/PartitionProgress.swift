/// How far a partition of the changesets topic was followed, and what that took, for those who decide what is followed.
package struct PartitionProgress: Sendable, Equatable {
  package let number: Int32
  /// Everything before this offset was read.
  package let position: Int64
  package let standing: FeedStanding
  /// The size of the feeds' state in bytes, by the formula of `StateSize`.
  package let stateBytes: Int
  /// Records that were read since the client began to follow the partition, and bytes of their keys and values.
  package let records: Int
  package let recordBytes: Int
  /// Why a store cannot continue from the feeds: a record was invalid, or a changeset did not fit. Nil if there was none.
  package let damage: String?
  /// The end of the partition, as a broker told it last; nil before that.
  package var knownEnd: Int64?

  package init(
    number: Int32,
    position: Int64,
    standing: FeedStanding,
    stateBytes: Int,
    records: Int,
    recordBytes: Int,
    damage: String?,
    knownEnd: Int64? = nil
  ) {
    self.number = number
    self.position = position
    self.standing = standing
    self.stateBytes = stateBytes
    self.records = records
    self.recordBytes = recordBytes
    self.damage = damage
    self.knownEnd = knownEnd
  }
}
