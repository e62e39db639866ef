extension FeedState {
  /// Checks the structure, and that what is kept incrementally is what a computation from the
  /// ground up gives; for tests. Traps with a message where something is broken.
  func checkInvariants() {
    list(.sections).pointee.tree.checkInvariants(sections)
    var expected = Totals()
    var previousSection: ElementHandle?
    for section in currentHandles(.sections) {
      precondition(sections[section].container == .sections, "a listed section is not present")
      precondition(sections[section].scratch == 0, "scratch was not cleared")
      expected.sectionBytes += sizeOfSection(section)
      expected.checksum &+= checksumTerm(section, after: previousSection, .sections)
      previousSection = section
      let scope = Scope.items(of: section)
      list(scope).pointee.tree.checkInvariants(items)
      var listChecksum: UInt32 = 0
      var previousItem: ElementHandle?
      for item in currentHandles(scope) {
        precondition(items[item].container == scope, "a listed item does not know its section")
        precondition(items[item].scratch == 0, "scratch was not cleared")
        expected.itemCount += 1
        expected.itemBytes += sizeOfItem(item)
        listChecksum &+= checksumTerm(item, after: previousItem, scope)
        previousItem = item
      }
      if previousItem != nil { expected.filledSectionCount += 1 }
      precondition(listChecksum == list(scope).pointee.checksum, "a list's checksum is wrong")
      expected.checksum &+= listChecksum
    }
    precondition(expected == totals, "the totals are \(totals), and should be \(expected)")
    checkContents()
  }

  private func checkContents() {
    var uses: [UInt32: UInt32] = [:]
    func countUse(_ content: Content) {
      if content.kind != KindTable.empty { uses[content.kind, default: 0] += 1 }
    }
    func checkFingerprint(_ content: Content) {
      if content.bytes == nil { return }
      precondition(
        content.fingerprint == DataFingerprint.of(content.data),
        "a content's fingerprint is not its data's"
      )
    }
    items.forEachOwnedContent {
      countUse($0)
      checkFingerprint($0)
    }
    for step in journal ?? [] { if let content = step.ownedContent { countUse(content) } }
    precondition(uses == kinds.useCounts, "kinds are used \(uses), and \(kinds.useCounts) are counted")
    sections.forEachOwnedContent {
      checkFingerprint($0)
      precondition($0.kind == KindTable.empty, "a section has a kind")
    }
  }
}
