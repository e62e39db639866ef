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

/// Names an element of an ``ElementTable``. An element keeps its handle until it is destroyed; another may then have it.
package struct ElementHandle: Hashable, Sendable {
  /// Where the element stands in its table.
  let number: UInt32

  @inline(__always)
  init(_ number: UInt32) { self.number = number }

  @inline(__always)
  var index: Int { Int(number) }
}

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

/// A value that an optional of it can do without: the optional then takes no more memory than the value.
protocol Packable: Equatable {
  /// What stands for nil.
  static var vacant: Self { get }
}

/// A value or nil, in as many bytes as the value.
struct PackedOptional<Value: Packable>: Equatable {
  private var stored: Value

  @inline(__always)
  init(_ value: Value) {
    assert(value != Value.vacant, "the value stands for nil")
    stored = value
  }

  @inline(__always)
  private init(stored: Value) { self.stored = stored }

  /// No value.
  static var none: PackedOptional {
    @inline(__always) get { PackedOptional(stored: Value.vacant) }
  }

  @inline(__always)
  var isNone: Bool { stored == Value.vacant }

  /// For reading with `if let`.
  @inline(__always)
  var value: Value? { isNone ? nil : stored }

  /// The value where there is one.
  @inline(__always)
  var known: Value {
    assert(!isNone, "there is no value")
    return stored
  }

  @inline(__always)
  static func == (one: PackedOptional, other: Value) -> Bool { one.stored == other }

  @inline(__always)
  static func != (one: PackedOptional, other: Value) -> Bool { one.stored != other }
}

/// Where an element's change stands among its table's.
struct ChangeIndex: Packable {
  /// The index plus one, so that memory of zeros is of elements that nothing changed in.
  private let number: UInt32

  @inline(__always)
  init(_ index: Int) { number = UInt32(index + 1) }

  private init(number: UInt32) { self.number = number }

  static var vacant: ChangeIndex {
    @inline(__always) get { ChangeIndex(number: 0) }
  }

  @inline(__always)
  var index: Int { Int(number) - 1 }
}
