import Glibc

/// The sections or the items of a feed by handle and by identifier: identity and content apart
/// from order.
///
/// An element keeps its handle while it is in the published or the current state, so that one
/// deleted and made again within a window is recognised.
final class ElementTable {
  @exclusivity(unchecked) private(set) var elements: UnsafeMutablePointer<Element>
  @exclusivity(unchecked) private var capacity = 4
  @exclusivity(unchecked) private var used = 0
  @exclusivity(unchecked) private var free: [UInt32] = []
  @exclusivity(unchecked) private var index = HashIndex()
  /// What was touched since the last publication, in the order of first touch.
  @exclusivity(unchecked) var changes: ContiguousArray<ElementChange> = []

  init() {
    elements = ElementTable.allocate(capacity)
  }

  deinit {
    for change in changes where change.hasPublishedContent { Glibc.free(change.publishedContent) }
    for handle in 0..<used where elements[handle].idCount > 0 {
      Glibc.free(elements[handle].id)
      Glibc.free(elements[handle].content)
    }
    Glibc.free(elements)
  }

  /// Number of elements, those that are only in the published state included.
  var count: Int { index.count }

  @inline(__always)
  subscript(handle: UInt32) -> Element {
    get { elements[Int(handle)] }
    _modify { yield &elements[Int(handle)] }
  }

  @inline(__always)
  func find(_ id: ByteSpan, _ hash: UInt32) -> UInt32? {
    let elements = elements
    return index.find(hash) { elements[Int($0)].idSpan.hasSameBytes(as: id) }
  }

  /// The handle of an element that is in the feed now.
  @inline(__always)
  func findPresent(_ id: ByteSpan) -> UInt32? {
    guard let handle = find(id, IdentifierHash.of(id)), self[handle].isPresent else { return nil }
    return handle
  }

  /// A new element, in no list yet and without content; noted as a change.
  func create(_ id: ByteSpan, _ hash: UInt32) -> UInt32 {
    let handle: UInt32
    if let recycled = free.popLast() {
      handle = recycled
    } else {
      if used == capacity { grow() }
      handle = UInt32(used)
      used += 1
    }
    let copy = ElementTable.copy(id)
    elements.advanced(by: Int(handle)).initialize(
      to: Element(id: copy, content: nil, leaf: nil, hash: hash, idCount: UInt8(id.count))
    )
    index.insert(hash, handle)
    touch(handle)
    return handle
  }

  /// Notes that an element is about to change.
  @inline(__always)
  func touch(_ handle: UInt32) {
    if elements[Int(handle)].change == 0 { appendChange(handle) }
  }

  private func appendChange(_ handle: UInt32) {
    changes.append(ElementChange(handle: handle, publishedContainer: elements[Int(handle)].container))
    elements[Int(handle)].change = UInt32(changes.count)
  }

  /// The change of an element that was touched.
  @inline(__always)
  func withChange<Result>(_ handle: UInt32, _ body: (inout ElementChange) -> Result) -> Result {
    body(&changes[Int(elements[Int(handle)].change) - 1])
  }

  /// Removes an element for good.
  func destroy(_ handle: UInt32) {
    index.remove(elements[Int(handle)].hash, handle)
    Glibc.free(elements[Int(handle)].id)
    Glibc.free(elements[Int(handle)].content)
    elements[Int(handle)].idCount = 0
    elements[Int(handle)].content = nil
    free.append(handle)
  }

  /// Gives memory back once there are no elements.
  func compactIfEmpty() {
    guard index.count == 0, capacity > 64 else { return }
    Glibc.free(elements)
    capacity = 4
    used = 0
    free = []
    elements = ElementTable.allocate(capacity)
    index.removeAll()
  }

  /// Forgets the changes, whose published contents nobody needs any more.
  func removeChanges() {
    if changes.capacity > 4096 { changes = [] } else { changes.removeAll(keepingCapacity: true) }
  }

  private func grow() {
    capacity *= 2
    guard let moved = realloc(elements, capacity * MemoryLayout<Element>.stride) else {
      fatalError("out of memory")
    }
    elements = moved.assumingMemoryBound(to: Element.self)
  }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Element> {
    guard let memory = malloc(capacity * MemoryLayout<Element>.stride) else { fatalError("out of memory") }
    return memory.bindMemory(to: Element.self, capacity: capacity)
  }

  /// A copy of the bytes in a block of its own; freed with `free`.
  static func copy(_ bytes: ByteSpan) -> UnsafeMutablePointer<UInt8> {
    let block = block(bytes.count)
    memcpy(block, bytes.base, bytes.count)
    return block
  }

  /// A copy of the bytes in a block of its own; freed with `free`.
  static func copy(_ bytes: [UInt8]) -> UnsafeMutablePointer<UInt8> {
    bytes.withUnsafeBytes { copy(ByteSpan($0)) }
  }

  static func block(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    guard let memory = malloc(max(count, 1)) else { fatalError("out of memory") }
    return memory.assumingMemoryBound(to: UInt8.self)
  }
}
