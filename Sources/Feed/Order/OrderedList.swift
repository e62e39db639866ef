/// A list of a feed: its sections, or the items of one section, with what is kept up to date
/// beside the order.
struct OrderedList {
  var tree = OrderTree()
  /// The sum of the checksum's terms of the list's elements, now and as published.
  var checksum: UInt32 = 0
  var publishedChecksum: UInt32 = 0
  /// Whether the order changed since it was published.
  var isReordered = false
  /// Whether the whole list was replaced since it was published.
  var isReplaced = false
  /// Whether the fewest moves must be found over the whole list, because the list was replaced and
  /// its order changed in some other way too.
  var needsWholeOrder = false
  /// For the difference: how many changes concern this list, and its section's positions.
  var touchCount: Int32 = 0
  var publishedRank = PackedOptional<Rank>.none
  var currentRank = PackedOptional<Rank>.none

  /// Notes that single elements were inserted, moved or removed.
  mutating func noteSingleChange() {
    if isReplaced { needsWholeOrder = true }
    isReordered = true
  }

  /// Notes that the list was replaced, if only by what it held.
  mutating func noteReplacement() {
    if isReordered { needsWholeOrder = true }
    isReplaced = true
  }
}
