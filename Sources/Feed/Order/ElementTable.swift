import CXxhash
import Glibc

/// The sections or the items of a feed by handle and by identifier: identity and content, without order.
///
/// An element keeps its handle while it is in the published or the current state, so that an element deleted
/// and created again within a window is recognised.
final class ElementTable {
  @exclusivity(unchecked) private(set) var elements: UnsafeMutablePointer<Element>
  @exclusivity(unchecked) private var capacity = 0
  @exclusivity(unchecked) private(set) var used = 0
  @exclusivity(unchecked) private var free: [ElementHandle] = []
  @exclusivity(unchecked) private(set) var index = HashIndex()
  private let hashKey = ByteHash.key
  /// The changes since the last publication, in the order of the first touch.
  @exclusivity(unchecked) var changes: ContiguousArray<ElementChange> = []

  init() {
    elements = ElementTable.none
  }

  deinit {
    for change in changes { change.publishedContent?.free() }
    for index in 0..<used where elements[index].isInUse {
      elements[index].id.release()
      elements[index].content.free()
    }
    freeElements()
  }

  /// The number of elements, including those that are only in the published state.
  var count: Int { index.count }

  @inline(__always)
  subscript(handle: ElementHandle) -> Element {
    get {
      assert(handle.index < used, "there is no element of that handle")
      return elements[handle.index]
    }
    _modify { yield &elements[handle.index] }
  }

  /// An element's identifier; valid until an element is created or destroyed.
  @inline(__always)
  func id(_ handle: ElementHandle) -> ByteSpan { ShortBytes.span(at: elements + handle.index) }

  @inline(__always)
  func find(_ id: ByteSpan, _ hash: UInt32) -> ElementHandle? {
    let elements = elements
    return index.find(id, hash) { ShortBytes.span(at: elements + Int($0)) }.map { ElementHandle($0) }
  }

  /// The handle of an element that is in the feed now.
  @inline(__always)
  func findPresent(_ id: ByteSpan) -> ElementHandle? {
    guard let handle = find(id, hashKey.hash(id)), self[handle].isPresent else { return nil }
    return handle
  }

  // An element's memory is in three places, mostly in no cache. Each is loaded while earlier records are
  // applied; the next address is known once the previous one was loaded.

  @inline(__always)
  func prefetch(_ handle: ElementHandle) { feedstore_prefetch(elements + handle.index) }

  @inline(__always)
  func prefetchSlot(_ hash: UInt32) { index.prefetch(hash) }

  /// - Returns: the element's handle, if it probably exists.
  @inline(__always)
  func prefetchElement(_ hash: UInt32) -> ElementHandle? {
    guard let handle = index.candidate(hash).map({ ElementHandle($0) }) else { return nil }
    prefetch(handle)
    return handle
  }

  /// - Parameter handle: from ``prefetchElement(_:)``; elements may have been destroyed since then.
  @inline(__always)
  func prefetchChange(_ handle: ElementHandle) {
    guard handle.index < used else { return }
    // A patch reads the data.
    feedstore_prefetch(elements[handle.index].content.bytes)
    guard let change = elements[handle.index].change.value, change.index < changes.count else { return }
    changes.withUnsafeBufferPointer {
      feedstore_prefetch($0.baseAddress.unsafelyUnwrapped + change.index)
    }
  }

  /// Visits elements of a list. Meanwhile it loads the memory of the next few, which is mostly in no cache.
  ///
  /// - Parameters:
  ///   - places: their positions in the list.
  ///   - readsData: whether the visit reads their data, which is then loaded too.
  @inline(__always)
  func forEach(
    _ places: [Int],
    of list: [ElementHandle],
    readsData: Bool,
    _ body: (ElementHandle, Int) -> Void
  ) {
    for (number, place) in places.enumerated() {
      if number + 8 < places.count { feedstore_prefetch(elements + list[places[number + 8]].index) }
      if readsData, number + 4 < places.count,
        let data = elements[list[places[number + 4]].index].content.bytes
      {
        feedstore_prefetch(data)
      }
      body(list[place], place)
    }
  }

  /// Creates an element in no list and without content, and records it as a change.
  func create(_ id: ByteSpan, _ hash: UInt32) -> ElementHandle {
    let handle = createSettled(id, hash)
    touch(handle)
    return handle
  }

  /// Creates an element in no list and without content, which does not count as a change.
  func createSettled(_ id: ByteSpan, _ hash: UInt32) -> ElementHandle {
    let handle: ElementHandle
    if let recycled = free.popLast() {
      handle = recycled
    } else {
      if used == capacity { grow() }
      handle = ElementHandle(UInt32(used))
      used += 1
    }
    (elements + handle.index).initialize(
      to: Element(id: ShortBytes(copying: id), needsEscapes: JSONString.needsEscapes(id), hash: hash)
    )
    let elements = elements
    index.insert(id, hash, handle.number) { ShortBytes.span(at: elements + Int($0)) }
    return handle
  }

  /// Records that an element is about to change.
  @inline(__always)
  func touch(_ handle: ElementHandle) {
    if elements[handle.index].change.isNone { appendChange(handle) }
  }

  private func appendChange(_ handle: ElementHandle) {
    changes.append(ElementChange(handle: handle, publishedContainer: elements[handle.index].container))
    elements[handle.index].change = PackedOptional(ChangeIndex(changes.count - 1))
  }

  /// The change of an element that was touched.
  @inline(__always)
  func withChange<Result>(_ handle: ElementHandle, _ body: (inout ElementChange) -> Result) -> Result {
    body(&changes[elements[handle.index].change.known.index])
  }

  /// The changes, for modification; meanwhile, none may be added or looked up in another way.
  @inline(__always)
  func withChanges(_ body: (UnsafeMutableBufferPointer<ElementChange>) -> Void) {
    changes.withUnsafeMutableBufferPointer { body($0) }
  }

  /// Removes an element for good. Its content was released before.
  func destroy(_ handle: ElementHandle) {
    index.remove(id(handle), elements[handle.index].hash, handle.number)
    elements[handle.index].id.release()
    elements[handle.index].isInUse = false
    free.append(handle)
  }

  /// Releases memory if there are no elements.
  func compactIfEmpty() {
    guard index.count == 0, capacity > 0 else { return }
    freeElements()
    elements = ElementTable.none
    capacity = 0
    used = 0
    free = []
    changes = []
    index = HashIndex()
  }

  /// The number of changes whose memory is kept: few of a large feed's elements change at once.
  private var keptChanges: Int { min(4096, max(64, count / 4)) }

  /// Removes the changes, with the contents that were published before them.
  func removeChanges() {
    if changes.capacity > keptChanges { changes = [] } else { changes.removeAll(keepingCapacity: true) }
  }

  private func grow() {
    let larger = ElementTable.allocate(max(1, capacity * 2))
    larger.moveInitialize(from: elements, count: used)
    freeElements()
    elements = larger
    capacity = max(1, capacity * 2)
  }

  private func freeElements() {
    if capacity > 0 { Glibc.free(elements) }
  }

  /// The memory of an empty table; never read.
  private static var none: UnsafeMutablePointer<Element> {
    // The alignment is not null.
    UnsafeMutablePointer(bitPattern: MemoryLayout<Element>.stride)!
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Element> {
    let stride = MemoryLayout<Element>.stride
    guard let memory = aligned_alloc(stride, capacity * stride) else { fatalError("out of memory") }
    HugePages.prefer(memory, capacity * stride)
    return memory.bindMemory(to: Element.self, capacity: capacity)
  }
}
