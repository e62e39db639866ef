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
  /// Position in the table's changes plus one; 0 when nothing changed since it was published.
  var change: UInt32 = 0
  /// An item's section; 0 for a section; `absent` when it is not in the feed now.
  var container: UInt32 = Element.absent
  /// For passing algorithms; 0 between them.
  var scratch: UInt32 = 0
  /// The leaf of the order tree that holds its current entry; nil when it is not in the feed.
  var leaf: OrderNode?

  static let absent = UInt32.max

  var isPresent: Bool { container != Element.absent }
  var data: ByteSpan { content.data }
}
