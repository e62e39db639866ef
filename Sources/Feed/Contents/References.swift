import Glibc

/// The references of an item: one block, which the item's published and current content share.
///
/// Uses are counted, without protection from other threads.
package struct References: Equatable {
  /// The head, a place for each reference, and the text.
  private let base: UnsafeMutableRawPointer

  private struct Head {
    var useCount: UInt32 = 1
    /// The feed's number in its directory.
    var feed: UInt32
    let item: UInt32
    let textCount: UInt16
    let count: UInt8
  }

  /// A reference's place in the lists of a ``ReferenceIndex``.
  struct Place {
    /// The content's number.
    var content: UInt32 = 0
    var position: UInt32 = 0
  }

  /// The maximum number of references of an item.
  package static let most = 4
  /// The maximum length of their text: an entry fits into a message beside the item's data (`TopicOffset`).
  package static let mostBytes = 2048
  /// The maximum length of a name and of an id, as of all ids in changesets.
  package static let greatestID = 255

  /// - Parameter text: as in changesets.
  init(copying text: ByteSpan, of item: ElementHandle, feed: UInt32) {
    let count = Members(text).reduce(0) { count, _ in count + 1 }
    precondition(text.count <= References.mostBytes && count <= References.most, "too many references")
    let size = MemoryLayout<Head>.stride + count * MemoryLayout<Place>.stride + text.count
    guard let memory = malloc(size) else { fatalError("out of memory") }
    base = memory
    base.initializeMemory(
      as: Head.self,
      to: Head(feed: feed, item: item.number, textCount: UInt16(text.count), count: UInt8(count))
    )
    places.initialize(repeating: Place(), count: count)
    memcpy(memory + size - text.count, text.base, text.count)
  }

  /// From the address of another's block.
  init(_ base: UnsafeMutableRawPointer) { self.base = base }

  var address: UnsafeMutableRawPointer { base }
  private var head: UnsafeMutablePointer<Head> { base.assumingMemoryBound(to: Head.self) }
  var places: UnsafeMutablePointer<Place> {
    (base + MemoryLayout<Head>.stride).assumingMemoryBound(to: Place.self)
  }
  var count: Int { Int(head.pointee.count) }
  var item: ElementHandle { ElementHandle(head.pointee.item) }
  var feed: UInt32 {
    get { head.pointee.feed }
    nonmutating set { head.pointee.feed = newValue }
  }
  /// The references in their spelling in changesets.
  var text: ByteSpan {
    let start = UnsafeMutableRawPointer(places + count).assumingMemoryBound(to: UInt8.self)
    return ByteSpan(UnsafePointer(start), Int(head.pointee.textCount))
  }

  var useCount: UInt32 { head.pointee.useCount }

  /// The same block with one use more.
  func used() -> References {
    head.pointee.useCount += 1
    return self
  }

  /// Ends a use.
  ///
  /// - Returns: whether it was the last one: then the block is to be freed.
  func endUse() -> Bool {
    head.pointee.useCount -= 1
    return head.pointee.useCount == 0
  }

  /// Whether JSON without white space can be an item's references.
  static func areValid(_ text: ByteSpan) -> Bool {
    guard text[0] == UInt8(ascii: "{"), text.count <= mostBytes else { return false }
    let areStrings = Members(text).map { $0.id[0] == UInt8(ascii: "\"") }
    return (1...most).contains(areStrings.count) && areStrings.allSatisfy { $0 }
  }

  /// The members of references in their spelling in changesets: names and ids, with quotes.
  struct Members: Sequence, IteratorProtocol {
    private var scanner: JSONScanner
    private var at = 1

    init(_ text: ByteSpan) { scanner = JSONScanner(text) }

    mutating func next() -> (name: ByteSpan, id: ByteSpan)? {
      let text = scanner.text
      guard at < text.count - 1 else { return nil }
      let name = scanner.endOfString(at)
      // In a patch, `null` instead of an id.
      let end = scanner.endOfValue(name + 1)
      defer { at = end + 1 }
      return (ByteSpan(text.base + at, name - at), ByteSpan(text.base + name + 1, end - name - 1))
    }
  }
}

/// Which items of a partition show each content. Not thread-safe.
final class ReferenceIndex {
  let table: ContentTable
  /// For composing data.
  let writer = ByteWriter()
  /// By the contents' numbers.
  private var lists: [List] = []

  private struct List {
    /// Addresses of blocks of references, with the reference's number in the lowest bits.
    var entries: UnsafeMutablePointer<UInt>?
    var count: UInt32 = 0
    var capacity: UInt32 = 0
  }

  init(_ table: ContentTable) { self.table = table }

  deinit {
    for (content, list) in lists.enumerated() where list.capacity > 0 {
      if list.count > 0 { table.endUses(UInt32(content), Int(list.count)) }
      free(list.entries)
    }
  }

  /// The number of references to a content.
  func count(_ content: UInt32) -> Int { content < lists.count ? Int(lists[Int(content)].count) : 0 }

  /// A reference to a content: its block, and its number there.
  subscript(content: UInt32, position: Int) -> (references: References, number: Int) {
    guard let entries = lists[Int(content)].entries else { preconditionFailure("a list without entries") }
    let number = entries[position] & UInt(References.most - 1)
    guard let base = UnsafeMutableRawPointer(bitPattern: entries[position] - number) else {
      preconditionFailure("an entry without references")
    }
    return (References(base), Int(number))
  }

  /// Adds the references of an item.
  func add(_ references: References) {
    for (number, member) in References.Members(references.text).enumerated() {
      let content = table.use(member.id)
      while lists.count <= content { lists.append(List()) }
      let position = lists[Int(content)].count
      if position == lists[Int(content)].capacity { grow(content) }
      lists[Int(content)].entries?[Int(position)] = UInt(bitPattern: references.address) + UInt(number)
      lists[Int(content)].count += 1
      references.places[number] = References.Place(content: content, position: position)
    }
  }

  /// Removes the references of an item: the last of each list takes the place of the removed one.
  func remove(_ references: References) {
    for number in 0..<references.count {
      let place = references.places[number]
      let last = Int(lists[Int(place.content)].count) - 1
      let moved = self[place.content, last]
      lists[Int(place.content)].entries?[Int(place.position)] =
        UInt(bitPattern: moved.references.address)
        + UInt(moved.number)
      moved.references.places[moved.number].position = place.position
      lists[Int(place.content)].count -= 1
      if last == 0 {
        free(lists[Int(place.content)].entries)
        lists[Int(place.content)] = List()
      }
      table.endUses(place.content)
    }
  }

  private func grow(_ content: UInt32) {
    let capacity = max(1, lists[Int(content)].capacity * 3 / 2 + 1)
    let bytes = Int(capacity) * MemoryLayout<UInt>.stride
    guard let memory = realloc(lists[Int(content)].entries, bytes) else { fatalError("out of memory") }
    lists[Int(content)].entries = memory.assumingMemoryBound(to: UInt.self)
    lists[Int(content)].capacity = capacity
  }
}
