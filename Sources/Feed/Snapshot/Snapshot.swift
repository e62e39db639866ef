/// The content of a feed at one moment: its sections, their items, and the order of both.
///
/// The vocabulary is that of UIKit's `NSDiffableDataSourceSnapshot`, with content beside the identifiers: an
/// item has a kind and data, a section has data. The differences of changesets apply to it.
///
/// A snapshot is a value. Copies share their storage until a difference is applied to one of them, which then copies it, in O(n)
/// for a snapshot of n elements.
///
/// ```swift
/// var snapshot = replica.snapshot()
/// for section in snapshot.sectionIdentifiers { draw(try snapshot.itemIdentifiers(inSection: section)) }
/// try snapshot.apply(difference)  // of the next changeset
/// ```
public struct Snapshot: Sendable {
  private(set) var storage: SnapshotStorage

  /// A snapshot without sections and items.
  public init() { storage = SnapshotStorage(FeedState()) }

  /// A snapshot of a shared state, whose owner copies it before changing it.
  init(sharing storage: SnapshotStorage) { self.storage = storage }

  var state: FeedState { storage.state }

  /// Applies a difference that starts from this snapshot's content.
  ///
  /// - Throws: ``SnapshotError/Code/mismatch`` if an entry names a missing element, inserts an existing one,
  ///   or has a wrong position; the snapshot is then unchanged.
  /// - Complexity: O(k log n) for k entries and their sections' deleted items.
  public mutating func apply(_ difference: SnapshotDifference) throws(SnapshotError) {
    if !isKnownUniquelyReferenced(&storage) { storage = storage.copy() }
    let bytes = DifferenceBytes()
    defer { withExtendedLifetime(bytes) {} }
    do throws(ReplicaFault) {
      try state.apply(bytes.entries(of: difference))
    } catch {
      state.rollBack()
      throw .mismatch(error.message)
    }
    state.confirm()
  }
}

extension Snapshot {
  /// The type of a ``SectionIdentifier``'s element.
  public enum Section {}

  /// The type of an ``ItemIdentifier``'s element.
  public enum Item {}
}

extension Snapshot {
  // MARK: Counts

  /// The number of items in all sections. O(1).
  public var numberOfItems: Int { state.totals.itemCount }

  /// The number of sections. O(1).
  public var numberOfSections: Int { state.sectionCount }

  /// The number of items in a section. O(1).
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection``.
  public func numberOfItems(inSection section: SectionIdentifier) throws(SnapshotError) -> Int {
    Int(storage.count(.items(of: try storage.known(section))))
  }

  // MARK: Identifiers

  /// The sections in order. O(s) for s sections.
  public var sectionIdentifiers: [SectionIdentifier] {
    state.currentHandles(.sections).map(storage.sectionIdentifier)
  }

  /// The items of all sections in order. O(n).
  public var itemIdentifiers: [ItemIdentifier] {
    var identifiers: [ItemIdentifier] = []
    identifiers.reserveCapacity(numberOfItems)
    for section in state.currentHandles(.sections) {
      identifiers += state.currentHandles(.items(of: section)).lazy.map(storage.itemIdentifier)
    }
    return identifiers
  }

  /// The items of a section in order. O(m) for m items.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection``.
  public func itemIdentifiers(
    inSection section: SectionIdentifier
  ) throws(SnapshotError) -> [ItemIdentifier] {
    state.currentHandles(.items(of: try storage.known(section))).map(storage.itemIdentifier)
  }

  // MARK: Positions

  /// The index of a section; nil if it does not exist. O(log s) for s sections.
  public func indexOfSection(_ section: SectionIdentifier) -> Int? {
    storage.find(section).map { Int(state.currentRank($0, .sections).number) }
  }

  /// The section of an item, and its index there; nil if the item does not exist. O(log n).
  public func position(ofItem item: ItemIdentifier) -> ItemPosition? {
    guard let handle = storage.find(item) else { return nil }
    let scope = state.items[handle].scope
    return ItemPosition(
      section: storage.sectionIdentifier(scope.section),
      index: Int(state.currentRank(handle, scope).number)
    )
  }

  /// The section of an item; nil if the item does not exist. O(1).
  public func sectionIdentifier(containingItem item: ItemIdentifier) -> SectionIdentifier? {
    storage.find(item).map { storage.sectionIdentifier(state.items[$0].scope.section) }
  }

  // MARK: Content

  /// An item's kind; nil if the item does not exist. O(1).
  public func kind(ofItem item: ItemIdentifier) -> ItemKind? {
    storage.find(item).map { ItemKind(state.kind($0)) }
  }

  /// An item's data; nil if the item does not exist. O(1), except for the copy.
  public func data(ofItem item: ItemIdentifier) -> JSONData? {
    storage.find(item).map { JSONData(checked: state.items[$0].data) }
  }

  /// When an item ends, in milliseconds since 1970; nil if it does not end, or does not exist. O(1).
  public func expires(ofItem item: ItemIdentifier) -> Int64? {
    storage.find(item).flatMap { state.items[$0].content.end.number }
  }

  /// An item's references, in their spelling in changesets; nil if it has none. Its data includes their contents. O(1),
  /// except for the copy.
  public func references(ofItem item: ItemIdentifier) -> JSONData? {
    storage.find(item).flatMap { state.items[$0].content.references }.map { JSONData(checked: $0.text) }
  }

  /// The items that refer to a content, in order, and the names that they have for it, as JSON. O(n).
  package func items(referringTo content: String) -> [(item: ItemIdentifier, names: [String])] {
    var found: [(item: ItemIdentifier, names: [String])] = []
    JSONData(string: content).text.withBytes { id in
      state.forEachReferring { item, references in
        let names = References.Members(references.text).filter { $0.id.hasSameBytes(as: id) }.map(\.name.text)
        if !names.isEmpty { found.append((storage.itemIdentifier(item), names)) }
      }
    }
    return found
  }

  /// A section's data; nil if the section does not exist. O(1), except for the copy.
  public func data(ofSection section: SectionIdentifier) -> JSONData? {
    storage.find(section).map { JSONData(checked: state.sections[$0].data) }
  }

  /// The checksum over identifiers, kinds and order in a changeset (protocol, section 4.3). O(1).
  public var checksum: UInt32 { state.totals.checksum }
}

/// Why a snapshot cannot return the requested value, or apply a difference. The snapshot is then unchanged.
public struct SnapshotError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of misuse.
  public enum Code: String, Sendable, CaseIterable {
    /// The section does not exist.
    case unknownSection = "unknown-section"
    /// An identifier has 1 to 255 UTF-8 bytes.
    case invalidIdentifier = "invalid-identifier"
    /// A difference does not start from this snapshot.
    case mismatch
  }

  /// The kind of error; stable.
  public let code: Code
  /// The identifier or value, and a remedy.
  public let message: String

  /// Code and message.
  public var description: String { "\(code.rawValue): \(message)" }

  static func invalidIdentifier(_ text: ByteText) -> SnapshotError {
    SnapshotError(
      code: .invalidIdentifier,
      message:
        "the identifier \(text.quotedForMessage) has \(text.count) bytes; it must have 1 to 255 bytes of UTF-8"
    )
  }

  static func unknown(_ section: SectionIdentifier) -> SnapshotError {
    SnapshotError(
      code: .unknownSection,
      message: "there is no section \(section.text.quotedForMessage); take one of `sectionIdentifiers`"
    )
  }

  static func mismatch(_ problem: String) -> SnapshotError {
    SnapshotError(
      code: .mismatch,
      message: "the difference does not start from this snapshot, take the feed's state again: \(problem)"
    )
  }
}
