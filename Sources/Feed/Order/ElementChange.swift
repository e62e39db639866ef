/// What is known of an element that was touched since the feed was last published: how it was
/// then. Dropped when the changeset is confirmed.
struct ElementChange {
  let handle: ElementHandle
  /// The list that it was published in; none if it was not published.
  let publishedContainer: PackedOptional<Scope>
  /// The leaf of its ghost: the entry that counts only in the published order, once the element
  /// has left that place.
  var ghostLeaf: OrderNode?
  /// The published content, owned, once another has replaced it.
  var publishedContent: Content?
  var forced = Forced.none
  /// The journal that remembers the content from before its record; later ones of the same record
  /// need not be kept.
  var contentJournal: UInt32 = 0
  /// For the difference: positions in the published and in the current list.
  var publishedRank = PackedOptional<Rank>.none
  var currentRank = PackedOptional<Rank>.none

  /// An entry that an event asked for, even if nothing changed.
  enum Forced: UInt8 {
    case none, reconfigure, reload
  }

  var wasPublished: Bool { !publishedContainer.isNone }
  /// The list of an element that was published.
  var publishedScope: Scope { publishedContainer.known }
}
