/// A section or an item: its identity, its content, and its current place.
///
/// 64 bytes, one cache line: a lookup loads only one line, because it compares the identifier.
struct Element {
  /// The identifier; read through `ElementTable.id`. Must stay the first member.
  let id: ShortBytes
  /// False after the element was destroyed, until its handle is reused.
  var isInUse = true
  /// Whether the identifier needs escapes in JSON.
  let needsEscapes: Bool
  let hash: UInt32
  /// Owned.
  var content = Content()
  /// The index of its change; none if nothing changed since the last publication.
  var change = PackedOptional<ChangeIndex>.none
  /// Its current list; none if it is not in the feed.
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

/// Names an element of an ``ElementTable``, until the element is destroyed; then it may be reused.
package struct ElementHandle: Hashable, Sendable {
  /// The element's index in its table.
  let number: UInt32

  @inline(__always)
  init(_ number: UInt32) { self.number = number }

  @inline(__always)
  var index: Int { Int(number) }
}

/// The published state of an element that was touched since; dropped when the changeset is confirmed.
struct ElementChange {
  let handle: ElementHandle
  /// The list of the element in the published state; none if it was not published.
  let publishedContainer: PackedOptional<Scope>
  /// The leaf of its ghost: the entry of an element that moved, which counts only in the published order.
  var ghostLeaf: OrderNode?
  /// The published content, owned, after another has replaced it.
  var publishedContent: Content?
  var forced = Forced.none
  /// The number of the journal with the content from before its record; later ones are not kept.
  var contentJournal: UInt32 = 0
  /// For the difference: positions in the published and in the current list.
  var publishedRank = PackedOptional<Rank>.none
  var currentRank = PackedOptional<Rank>.none

  /// An entry that an event requested, even if nothing changed.
  enum Forced: UInt8 {
    case none, reconfigure, reload
  }

  var wasPublished: Bool { !publishedContainer.isNone }
  /// The list of a published element.
  var publishedScope: Scope { publishedContainer.known }
}

/// A type with an unused value, so that an optional takes no more memory than the value.
protocol Packable: Equatable {
  /// The value that represents nil.
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

  /// The value, which must exist.
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

struct ChangeIndex: Packable {
  /// The index plus one, so that zeroed memory describes unchanged elements.
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
