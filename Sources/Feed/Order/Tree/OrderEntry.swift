/// An element in the order tree: its handle, and in which of the two orders the entry counts.
///
/// An element that did not move has one entry that counts in both. One that was moved or deleted
/// leaves a ghost that counts only in the published order, and one that was moved or inserted has
/// an entry that counts only in the current order.
struct OrderEntry: Equatable {
  let bits: UInt32

  static let published: UInt32 = 1
  static let current: UInt32 = 2

  @inline(__always)
  init(bits: UInt32) { self.bits = bits }

  @inline(__always)
  static func both(_ handle: ElementHandle) -> OrderEntry { OrderEntry(bits: handle.number << 2 | 3) }
  @inline(__always)
  static func ghost(_ handle: ElementHandle) -> OrderEntry { OrderEntry(bits: handle.number << 2 | 1) }
  @inline(__always)
  static func newcomer(_ handle: ElementHandle) -> OrderEntry { OrderEntry(bits: handle.number << 2 | 2) }

  @inline(__always)
  var handle: ElementHandle { ElementHandle(bits >> 2) }
  @inline(__always)
  var isPublished: Bool { bits & 1 != 0 }
  @inline(__always)
  var isCurrent: Bool { bits & 2 != 0 }
  @inline(__always)
  var isGhost: Bool { bits & 3 == 1 }
  @inline(__always)
  var isNewcomer: Bool { bits & 3 == 2 }
  /// 1 where it counts in the published order.
  @inline(__always)
  var publishedCount: Int32 { Int32(bits & 1) }
  /// 1 where it counts in the current order.
  @inline(__always)
  var currentCount: Int32 { Int32(bits >> 1 & 1) }
}
