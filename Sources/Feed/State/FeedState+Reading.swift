/// What other modules read of a state that is neither edited nor published.
extension FeedState {
  package var checksum: UInt32 { totals.checksum }
  package var itemCount: Int { totals.itemCount }

  // MARK: Sections

  /// The sections in order; valid until the state changes.
  package var sectionCursor: CurrentCursor { CurrentCursor(list(.sections).pointee.tree) }

  package func sectionID(_ section: ElementHandle) -> ByteSpan { sections.id(section) }
  package func sectionData(_ section: ElementHandle) -> ByteSpan { sections[section].data }

  /// How many sections stand before one; nil if there is no such section.
  package func sectionRank(_ id: ByteSpan) -> Rank? {
    sections.findPresent(id).map { currentRank($0, .sections) }
  }

  // MARK: Items

  /// The items of a section in order; valid until the state changes.
  package func itemCursor(of section: ElementHandle) -> CurrentCursor {
    CurrentCursor(list(.items(of: section)).pointee.tree)
  }

  package func itemID(_ item: ElementHandle) -> ByteSpan { items.id(item) }
  package func itemKind(_ item: ElementHandle) -> ByteSpan { kind(item) }
  package func itemData(_ item: ElementHandle) -> ByteSpan { items[item].data }
  package func hasItem(_ id: ByteSpan) -> Bool { items.findPresent(id) != nil }

  // MARK: Size

  /// Bytes of a reload as one value.
  ///
  /// - Parameter headBytes: those of the fields before its lists.
  package func reloadByteCount(headBytes: Int) -> Int { ReloadWriter.byteCount(self, headBytes: headBytes) }
}
