extension Snapshot {
  // MARK: Appending

  /// Adds items with their content at the end of a section; where they belong if the section is ordered. A bound cuts nothing.
  ///
  /// - Parameter section: nil for the last section.
  /// - Throws: ``SnapshotError/Code/unknownSection`` if there is no such section, or
  ///   ``SnapshotError/Code/noSection`` if none is named and there is none;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if an item is there already, in whatever section, or
  ///   is named twice.
  /// - Complexity: O(k log n) for k items.
  public mutating func appendItems(
    _ items: some Sequence<Item>,
    toSection section: SectionIdentifier? = nil
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let scope: Scope
      if let section {
        scope = .items(of: try storage.known(section))
      } else {
        let last = storage.count(.sections) - 1
        guard last >= 0, let handle = storage.state.element(at: Rank(last), .sections) else {
          throw .noSection
        }
        scope = .items(of: handle)
      }
      try storage.insert(items, scope, at: Rank(storage.count(scope)))
    }
  }

  /// Adds items without kind and with null data; otherwise like the method for items with content.
  public mutating func appendItems(
    _ identifiers: [ItemIdentifier],
    toSection section: SectionIdentifier? = nil
  ) throws(SnapshotError) {
    try appendItems(identifiers.lazy.map { Item($0) }, toSection: section)
  }

  // MARK: Inserting

  /// Adds items with their content before another item, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if there is no such item to insert before;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice;
  ///   ``SnapshotError/Code/orderedSection`` if the section is ordered.
  /// - Complexity: O(k log n) for k items.
  public mutating func insertItems(
    _ items: some Sequence<Item>,
    beforeItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(items, next: anchor, isAfter: false)
  }

  /// Adds items without kind and with null data; otherwise like the method for items with content.
  public mutating func insertItems(
    _ identifiers: [ItemIdentifier],
    beforeItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(identifiers.lazy.map { Item($0) }, next: anchor, isAfter: false)
  }

  /// Adds items with their content after another item; otherwise like the method for those before it.
  public mutating func insertItems(
    _ items: some Sequence<Item>,
    afterItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(items, next: anchor, isAfter: true)
  }

  /// Adds items without kind and with null data; otherwise like the method for items with content.
  public mutating func insertItems(
    _ identifiers: [ItemIdentifier],
    afterItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try insert(identifiers.lazy.map { Item($0) }, next: anchor, isAfter: true)
  }

  private mutating func insert(
    _ items: some Sequence<Item>,
    next anchor: ItemIdentifier,
    isAfter: Bool
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      let handle = try storage.known(anchor)
      let scope = storage.state.items[handle].scope
      try storage.checkPlaces(scope)
      try storage.insert(items, scope, at: storage.state.currentRank(handle, scope) + (isAfter ? 1 : 0))
    }
  }

  // MARK: Deleting

  /// Removes items. As in UIKit, unknown items are ignored.
  ///
  /// - Complexity: O(k log n) for k items.
  public mutating func deleteItems(_ identifiers: [ItemIdentifier]) {
    edit { storage in
      for identifier in identifiers {
        if let handle = storage.find(identifier) { storage.delete(item: handle) }
      }
    }
  }

  // MARK: Moving

  /// Moves an item before another, into that one's section.
  ///
  /// - Throws: ``SnapshotError/Code/unknownItem`` if either is not there;
  ///   ``SnapshotError/Code/selfMove`` if both are the same;
  ///   ``SnapshotError/Code/orderedSection`` if the other one's section is ordered.
  /// - Complexity: O(log n).
  public mutating func moveItem(
    _ item: ItemIdentifier,
    beforeItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try move(item, to: anchor, isAfter: false)
  }

  /// Moves an item after another; otherwise like the method that moves it before.
  public mutating func moveItem(
    _ item: ItemIdentifier,
    afterItem anchor: ItemIdentifier
  ) throws(SnapshotError) {
    try move(item, to: anchor, isAfter: true)
  }

  private mutating func move<Element>(
    _ element: ElementIdentifier<Element>,
    to anchor: ElementIdentifier<Element>,
    isAfter: Bool
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in try storage.move(element, to: anchor, isAfter: isAfter) }
  }
}

extension SnapshotStorage {
  /// Inserts new items one after the other.
  fileprivate func insert(
    _ items: some Sequence<Snapshot.Item>,
    _ scope: Scope,
    at rank: Rank
  ) throws(SnapshotError) {
    var rank = rank
    for item in items {
      let handle = try make(item.identifier)
      setContent(handle, kind: item.kind, data: item.data)
      if let order = state.order(scope) {
        state.sort(scope)
        state.attach(handle, scope, at: state.placeInOrder(handle, scope, order))
      } else {
        state.attach(handle, scope, at: rank)
        rank += 1
      }
    }
  }
}

extension Snapshot {
  /// Adds sections after the last one, without items and with null data.
  ///
  /// - Throws: ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k sections.
  public mutating func appendSections(_ sections: [SectionIdentifier]) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      try storage.insert(sections, at: Rank(storage.count(.sections)))
    }
  }

  /// Adds sections before another, in the order given.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection`` if there is no such section to insert before;
  ///   ``SnapshotError/Code/duplicateIdentifier`` if one is there already or is named twice.
  /// - Complexity: O(k log n) for k sections.
  public mutating func insertSections(
    _ sections: [SectionIdentifier],
    beforeSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      try storage.insert(sections, at: storage.rank(try storage.known(anchor)))
    }
  }

  /// Adds sections after another; otherwise like the method for those before it.
  public mutating func insertSections(
    _ sections: [SectionIdentifier],
    afterSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try edit { (storage) throws(SnapshotError) in
      try storage.insert(sections, at: storage.rank(try storage.known(anchor)) + 1)
    }
  }

  /// Removes sections with their items. As in UIKit, unknown sections are ignored.
  ///
  /// - Complexity: O(log n) for each section, and O(m) for its m items.
  public mutating func deleteSections(_ sections: [SectionIdentifier]) {
    edit { storage in
      for section in sections {
        if let handle = storage.find(section) { storage.delete(section: handle) }
      }
    }
  }

  /// Moves a section, with its items, before another.
  ///
  /// - Throws: ``SnapshotError/Code/unknownSection`` if either is not there;
  ///   ``SnapshotError/Code/selfMove`` if both are the same.
  /// - Complexity: O(log n).
  public mutating func moveSection(
    _ section: SectionIdentifier,
    beforeSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try move(section, to: anchor, isAfter: false)
  }

  /// Moves a section, with its items, after another; otherwise like the method that moves it before.
  public mutating func moveSection(
    _ section: SectionIdentifier,
    afterSection anchor: SectionIdentifier
  ) throws(SnapshotError) {
    try move(section, to: anchor, isAfter: true)
  }
}

extension SnapshotStorage {
  /// Where a section stands.
  fileprivate func rank(_ section: ElementHandle) -> Rank { state.currentRank(section, .sections) }

  /// Inserts new sections one after the other.
  fileprivate func insert(_ sections: [SectionIdentifier], at rank: Rank) throws(SnapshotError) {
    var rank = rank
    for section in sections {
      let handle = try make(section)
      state.setContent(section: handle, .ofNewSection)
      state.attach(handle, .sections, at: rank)
      rank += 1
    }
  }
}

/// Why a snapshot cannot be read or edited as asked: the misuse for which UIKit raises.
///
/// The snapshot is then as it was before.
public struct SnapshotError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of misuse.
  public enum Code: String, Sendable, CaseIterable {
    /// An identifier is in the snapshot already, or stands twice in the argument.
    case duplicateIdentifier = "duplicate-identifier"
    /// There is no such section.
    case unknownSection = "unknown-section"
    /// There is no such item.
    case unknownItem = "unknown-item"
    /// No section was named, and the snapshot has none that could be the last.
    case noSection = "no-section"
    /// An element cannot be moved before or after itself.
    case selfMove = "self-move"
    /// The items of an ordered section have no places but by their data.
    case orderedSection = "ordered-section"
    /// An identifier has 1 to 255 UTF-8 bytes.
    case invalidIdentifier = "invalid-identifier"
    /// A kind has at most 255 UTF-8 bytes.
    case invalidKind = "invalid-kind"
    /// Data is one JSON value.
    case invalidData = "invalid-data"
    /// A difference does not start from this snapshot.
    case mismatch
  }

  /// What went wrong; stable.
  public let code: Code
  /// Names the identifier or value, and what to do.
  public let message: String

  /// Code and message.
  public var description: String { "\(code.rawValue): \(message)" }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  static func invalidIdentifier(_ text: ByteText) -> SnapshotError {
    SnapshotError(
      .invalidIdentifier,
      "the identifier \(text.quotedForMessage) has \(text.count) bytes; it must have 1 to 255 bytes of UTF-8"
    )
  }

  static func invalidKind(_ text: ByteText) -> SnapshotError {
    SnapshotError(
      .invalidKind,
      "the kind \(text.quotedForMessage) has \(text.count) bytes; it may have at most 255 bytes of UTF-8"
    )
  }

  static func invalidData(_ text: ByteText, _ fault: JSONFault) -> SnapshotError {
    SnapshotError(.invalidData, "\(text.quotedForMessage) is not one JSON value: \(fault.explanation)")
  }

  static func unknown<Element>(_ id: ElementIdentifier<Element>) -> SnapshotError {
    SnapshotError(
      ElementIdentifier<Element>.isOfItem ? .unknownItem : .unknownSection,
      "there is no \(id.forMessage); append or insert it first"
    )
  }

  static func duplicate<Element>(_ id: ElementIdentifier<Element>, isInArgument: Bool) -> SnapshotError {
    SnapshotError(
      .duplicateIdentifier,
      "the \(id.forMessage) "
        + (isInArgument
          ? "stands twice in the argument; name it once" : "is in the snapshot already; move it instead")
    )
  }

  static func selfMove<Element>(_ id: ElementIdentifier<Element>) -> SnapshotError {
    SnapshotError(.selfMove, "the \(id.forMessage) cannot be moved next to itself; name another")
  }

  static func orderedSection(_ id: SectionIdentifier) -> SnapshotError {
    SnapshotError(
      .orderedSection,
      "the section \(id.text.quotedForMessage) is ordered by its items' data; append items, or change their data"
    )
  }

  static let noSection = SnapshotError(
    .noSection,
    "the snapshot has no section that items could be appended to; append one first"
  )
}
