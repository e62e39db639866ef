/// A section or an item: its identity, its content, and where it stands now. 48 bytes.
struct Element {
  /// The identifier's bytes, owned.
  var id: UnsafeMutablePointer<UInt8>
  /// Kind and then data, in one block that is owned; nil for no bytes at all.
  var content: UnsafeMutablePointer<UInt8>?
  /// The leaf of the order tree that holds its current entry; nil when it is not in the feed.
  var leaf: UnsafeMutablePointer<OrderLeaf>?
  var dataCount: UInt32 = 0
  var hash: UInt32
  /// Position in the table's changes plus one; 0 when nothing changed since it was published.
  var change: UInt32 = 0
  /// An item's section; 0 for a section; `absent` when it is not in the feed now.
  var container: UInt32 = Element.absent
  /// For passing algorithms; 0 between them.
  var scratch: UInt32 = 0
  var idCount: UInt8
  var kindCount: UInt8 = 0

  static let absent = UInt32.max

  var isPresent: Bool { container != Element.absent }
  var idSpan: ByteSpan { ByteSpan(UnsafePointer(id), Int(idCount)) }
  var kind: ByteSpan { Content.kind(content, kindCount) }
  var data: ByteSpan { Content.data(content, kindCount, dataCount) }
}

/// Reading a block of kind and data.
enum Content {
  static func kind(_ block: UnsafeMutablePointer<UInt8>?, _ kindCount: UInt8) -> ByteSpan {
    guard let block else { return .empty }
    return ByteSpan(UnsafePointer(block), Int(kindCount))
  }

  static func data(_ block: UnsafeMutablePointer<UInt8>?, _ kindCount: UInt8, _ dataCount: UInt32) -> ByteSpan
  {
    guard let block else { return .empty }
    return ByteSpan(UnsafePointer(block) + Int(kindCount), Int(dataCount))
  }
}
