/// The kinds of a feed's items. Each is stored once for all its items and has a number, so that kinds are
/// compared without reading their bytes.
struct KindTable: ~Copyable {
  /// Not an array: reading it in place would count a reference for each comparison.
  private(set) var kinds = KindTable.none
  private var capacity = 0
  private(set) var used = 0
  private(set) var index = HashIndex()
  private var unusedNumbers: [UInt32] = []

  struct Kind {
    /// Must stay the first member: `ShortBytes`.
    let bytes: ShortBytes
    let hash: UInt32
    /// 0 if the number is unused.
    var useCount: UInt32 = 1
  }

  /// The number of the empty kind, whose uses are not counted.
  static let empty: UInt32 = 0

  deinit {
    for place in 0..<used where kinds[place].useCount > 0 { kinds[place].bytes.release() }
    if capacity > 0 { kinds.deallocate() }
  }

  /// A kind's bytes; valid as long as the kind is used.
  subscript(number: UInt32) -> ByteSpan {
    number == KindTable.empty ? .empty : ShortBytes.span(at: kinds + Int(number) - 1)
  }

  /// The number of used kinds.
  var count: Int { index.count }

  /// Counts one more use of a kind.
  ///
  /// - Parameter bytes: at most 255.
  /// - Returns: its number, which stays the same as long as the kind is used.
  mutating func use(_ bytes: ByteSpan) -> UInt32 {
    if bytes.isEmpty { return KindTable.empty }
    let hash = ByteHash.of(bytes)
    if let known = index.find(bytes, hash, textOf: { self[$0] }) {
      use(known)
      return known
    }
    let number: UInt32
    if let unused = unusedNumbers.popLast() {
      number = unused
    } else {
      if used == capacity { grow() }
      used += 1
      number = UInt32(used)
    }
    (kinds + Int(number) - 1).initialize(to: Kind(bytes: ShortBytes(copying: bytes), hash: hash))
    let kinds = kinds
    index.insert(bytes, hash, number) { ShortBytes.span(at: kinds + Int($0) - 1) }
    return number
  }

  /// Counts one more use of a kind that is in use.
  mutating func use(_ number: UInt32) {
    if number != KindTable.empty { kinds[Int(number) - 1].useCount += 1 }
  }

  /// Ends one use; a kind without uses is removed.
  mutating func release(_ number: UInt32) {
    if number == KindTable.empty { return }
    let place = Int(number) - 1
    kinds[place].useCount -= 1
    if kinds[place].useCount > 0 { return }
    index.remove(self[number], kinds[place].hash, number)
    kinds[place].bytes.release()
    unusedNumbers.append(number)
    // Releases the memory.
    if index.count == 0 { self = KindTable() }
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Kind>.allocate(capacity: max(2, capacity * 2))
    larger.moveInitialize(from: kinds, count: used)
    if capacity > 0 { kinds.deallocate() }
    kinds = larger
    capacity = max(2, capacity * 2)
  }

  /// The memory of an empty table; never read.
  private static var none: UnsafeMutablePointer<Kind> {
    // The alignment is not null.
    UnsafeMutablePointer(bitPattern: MemoryLayout<Kind>.alignment)!
  }
}
