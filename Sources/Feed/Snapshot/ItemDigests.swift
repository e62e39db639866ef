/// What the items of a snapshot are, identifier, kind and data, in 64 bits each.
///
/// To compare two snapshots then takes a look at 8 bytes of an item that did not change, and none at its element and its data,
/// which lie in two other places. 12 bytes an item.
///
/// A digest is the standard library's hash with the process's random key (SipHash-1-3). Two different items have equal
/// digests with a probability of one in 2⁶⁴. Such items cannot be searched for without the key, and neither the key nor any
/// digest leaves the process.
struct ItemDigests {
  /// By the item's handle. Of a handle that is not in use, what its last item had.
  fileprivate var digests: ContiguousArray<UInt64> = []
  /// The hashes of the identifiers, as the elements have them.
  fileprivate var hashes: ContiguousArray<UInt32> = []

  /// Of no items.
  init() {}

  /// Of all items of a state. O(n) for n bytes.
  init(of state: FeedState) {
    ItemDigests.forEachItem(of: state) { update($0, state) }
  }

  /// The digests of `state.copyOfCurrent()`, whose handles count up in the order of the items. O(n) for n items.
  func copied(from state: FeedState) -> ItemDigests {
    var copy = ItemDigests()
    copy.digests.reserveCapacity(state.totals.itemCount)
    copy.hashes.reserveCapacity(state.totals.itemCount)
    ItemDigests.forEachItem(of: state) { item in
      copy.digests.append(digests[item.index])
      copy.hashes.append(hashes[item.index])
    }
    return copy
  }

  /// Computes the digests of the items that an unconfirmed edit has changed.
  mutating func update(from state: FeedState) {
    for change in state.items.changes { update(change.handle, state) }
  }

  private mutating func update(_ item: ElementHandle, _ state: FeedState) {
    while digests.count <= item.index {
      digests.append(0)
      hashes.append(0)
    }
    digests[item.index] = ItemDigests.digest(item, state)
    hashes[item.index] = state.items[item].hash
  }

  private static func digest(_ item: ElementHandle, _ state: FeedState) -> UInt64 {
    var hasher = Hasher()
    func combine(_ text: ByteSpan) {
      // With its length, so that no text's end can pass for the beginning of the next.
      hasher.combine(text.count)
      hasher.combine(bytes: text.rawBuffer)
    }
    combine(state.items.id(item))
    combine(state.kind(item))
    combine(state.items[item].data)
    return UInt64(truncatingIfNeeded: hasher.finalize())
  }

  private static func forEachItem(of state: FeedState, _ body: (ElementHandle) -> Void) {
    for section in state.currentHandles(.sections) {
      for item in state.currentHandles(.items(of: section)) { body(item) }
    }
  }

  /// Whether they are right; for tests.
  func areThose(of state: FeedState) -> Bool {
    var areRight = true
    ItemDigests.forEachItem(of: state) { item in
      if digests[item.index] != ItemDigests.digest(item, state) { areRight = false }
      if hashes[item.index] != state.items[item].hash { areRight = false }
    }
    return areRight
  }
}

/// Compares an item of one snapshot with an item of another by their digests.
struct DigestComparison {
  private let old: ItemDigests
  private let new: ItemDigests
  private let areKnown: Bool

  /// - Parameters: nil if a snapshot has none; then nothing is known.
  init(_ old: ItemDigests?, _ new: ItemDigests?) {
    self.old = old ?? ItemDigests()
    self.new = new ?? ItemDigests()
    areKnown = old != nil && new != nil
  }

  /// Whether both are known to have the same identifier, kind and data.
  @inline(__always)
  func areEqual(_ oldItem: ElementHandle, _ newItem: ElementHandle) -> Bool {
    areKnown && old.digests[oldItem.index] == new.digests[newItem.index]
  }

  /// Whether both are known to have different identifiers.
  @inline(__always)
  func haveDifferentIdentifiers(_ oldItem: ElementHandle, _ newItem: ElementHandle) -> Bool {
    areKnown && old.hashes[oldItem.index] != new.hashes[newItem.index]
  }
}
