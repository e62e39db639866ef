/// A section or an item: its identity, its content, and where it stands now.
///
/// 64 bytes, a line of the processor's cache: looking an item up then loads one line, as its identifier is compared.
struct Element {
  /// The identifier; read through `ElementTable.id`. Must stay the first member.
  let id: ShortBytes
  /// False for one that was destroyed, until its handle is used again.
  var isInUse = true
  /// Whether JSON spells the identifier with escapes.
  let needsEscapes: Bool
  let hash: UInt32
  /// Owned.
  var content = Content()
  /// Where its change stands; none when nothing changed since it was published.
  var change = PackedOptional<ChangeIndex>.none
  /// The list that it is in now; none when it is not in the feed.
  var container = PackedOptional<Scope>.none
  /// For passing algorithms; 0 between them.
  var scratch: UInt32 = 0
  /// The leaf of the order tree that holds its current entry; nil when it is not in the feed.
  var leaf: OrderNode?

  var isPresent: Bool { !container.isNone }
  /// The list of an element that is in the feed.
  var scope: Scope { container.known }
  var data: ByteSpan { content.data }
}
