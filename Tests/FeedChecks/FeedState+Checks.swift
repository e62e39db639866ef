@testable import Feed

extension FeedState {
  /// Checks the structure, and that what is kept incrementally is what a computation from the
  /// ground up gives. Traps with a message where something is broken.
  func checkInvariants() {
    list(.sections).pointee.tree.checkInvariants(sections)
    var expected = Totals()
    var previousSection: ElementHandle?
    for section in currentHandles(.sections) {
      precondition(sections[section].container == .sections, "a listed section is not present")
      precondition(sections[section].scratch == 0, "scratch was not cleared")
      expected.sectionBytes += sizeOfSection(section)
      if let settings = list(.items(of: section)).pointee.settings {
        expected.settingsCount += 1
        if settings.ttl != .none { expected.endCount += 1 }
      }
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
        if items[item].content.hasEnd { expected.endCount += 1 }
        listChecksum &+= checksumTerm(item, after: previousItem, scope)
        previousItem = item
      }
      if previousItem != nil { expected.filledSectionCount += 1 }
      precondition(listChecksum == list(scope).pointee.checksum, "a list's checksum is wrong")
      checkOrder(scope)
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
        content.fingerprint | 3 == DataFingerprint.of(content.data) | 3,
        "a content's fingerprint is not its data's"
      )
    }
    items.forEachOwnedContent {
      countUse($0)
      checkFingerprint($0)
    }
    for step in journal ?? [] { if let content = step.ownedContent { countUse(content) } }
    checkReferences()
    precondition(uses == kinds.useCounts, "kinds are used \(uses), and \(kinds.useCounts) are counted")
    sections.forEachOwnedContent {
      checkFingerprint($0)
      precondition($0.kind == KindTable.empty, "a section has a kind")
    }
  }

  /// Checks the references of items, and that an index knows them.
  private func checkReferences() {
    var uses: [UnsafeMutableRawPointer: UInt32] = [:]
    func check(_ content: Content) {
      guard let block = content.references else { return }
      uses[block.address, default: 0] += 1
      precondition(References.areValid(block.text), "the references are \(block.text.text)")
      guard let references else { return }
      precondition(block.feed == number, "references belong to another feed")
      for number in 0..<block.count {
        let place = block.places[number]
        let entry = references[place.content, Int(place.position)]
        precondition(
          entry.references == block && entry.number == number,
          "a reference is not where it should be"
        )
      }
    }
    items.forEachOwnedContent(check)
    for step in journal ?? [] { if let content = step.ownedContent { check(content) } }
    precondition(
      uses.count == referenceCount,
      "\(uses.count) blocks of references, \(referenceCount) are counted"
    )
    for (address, count) in uses {
      precondition(References(address).useCount == count, "the uses of references are not counted right")
    }
  }

  /// Checks the order of a list whose keys are known.
  private func checkOrder(_ scope: Scope) {
    guard let order = self.order(scope), list(scope).pointee.isSorted else { return }
    let handles = currentHandles(scope)
    for handle in handles {
      precondition(sortKeys[handle] == SortKey(items[handle].data, order), "a key is not that of its item")
    }
    precondition(
      zip(handles, handles.dropFirst()).allSatisfy { precedes($0, $1, order) },
      "an ordered section is not in order"
    )
  }
}

extension OrderTree {
  /// Checks the whole structure. Traps with a message where it is broken.
  func checkInvariants(_ table: ElementTable) {
    guard let root else {
      precondition(counts == OrderCounts() && entryCount == 0 && firstLeaf == nil)
      return
    }
    var leaves: [OrderNode] = []
    precondition(counts == OrderTree.check(root, parent: nil, &leaves), "the tree's counts are wrong")
    var leaf = firstLeaf
    var previous: OrderNode?
    for expected in leaves {
      precondition(leaf == expected && expected.previous == previous, "the list of leaves is broken")
      for index in 0..<expected.count {
        let entry = expected.entries[index]
        if entry.isCurrent {
          precondition(table[entry.handle].leaf == expected, "an element does not know its leaf")
        } else {
          precondition(
            table.withChange(entry.handle) { $0.ghostLeaf } == expected,
            "a ghost's leaf is not known"
          )
        }
      }
      previous = expected
      leaf = expected.next
    }
    precondition(leaf == nil, "the list of leaves goes on after the last leaf")
    precondition(leaves.reduce(0) { $0 + $1.count } == entryCount, "the number of entries is wrong")
  }

  /// - Returns: the entries below the node that count in each order.
  private static func check(
    _ node: OrderNode,
    parent: OrderNode?,
    _ leaves: inout [OrderNode]
  ) -> OrderCounts {
    precondition(node.parent == parent, "a node's parent is wrong")
    precondition(parent.map { $0.level == node.level + 1 } ?? true, "a node's level is wrong")
    precondition(node.count > 0 && node.count <= node.capacity, "a node's count is wrong")
    var counts = OrderCounts()
    if node.isLeaf {
      for index in 0..<node.count {
        precondition(node.entries[index].bits & 3 != 0, "an entry counts in no order")
        counts += node.entries[index].counts
      }
      precondition(counts == node.entryCounts, "a leaf's counts are wrong")
      leaves.append(node)
      return counts
    }
    for slot in 0..<node.count {
      let child = check(node.children[slot], parent: node, &leaves)
      precondition(child == node.childCounts[slot], "a branch's counts are wrong")
      counts += child
    }
    return counts
  }
}

extension ElementTable {
  /// Visits the contents of its elements, and those that are published and were replaced. Tests spend much of their time here.
  fileprivate func forEachOwnedContent(_ visit: (Content) -> Void) {
    var index = 0
    while index < used {
      if elements[index].isInUse { visit(elements[index].content) }
      index += 1
    }
    for change in changes { if let content = change.publishedContent { visit(content) } }
  }
}

extension KindTable {
  /// How often each kind is used, by number.
  var useCounts: [UInt32: UInt32] {
    var counts: [UInt32: UInt32] = [:]
    for place in 0..<used where kinds[place].useCount > 0 {
      counts[UInt32(place) + 1] = kinds[place].useCount
    }
    return counts
  }
}

extension HashIndex {
  /// How far each element stands from where its hash puts it.
  var distances: [Int] {
    (0...mask).filter { slots[$0] != 0 }.map { ($0 - Int(slots[$0] >> 32)) & mask }
  }

  /// Whether the table has a key of its own.
  var hasOwnKey: Bool { ownKey != nil }
}
