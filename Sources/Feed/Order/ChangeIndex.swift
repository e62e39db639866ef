/// Where an element's change stands among its table's.
struct ChangeIndex: Packable {
  /// The index plus one, so that memory of zeros is of elements that nothing changed in.
  private let number: UInt32

  @inline(__always)
  init(_ index: Int) { number = UInt32(index + 1) }

  private init(number: UInt32) { self.number = number }

  static var vacant: ChangeIndex {
    @inline(__always) get { ChangeIndex(number: 0) }
  }

  @inline(__always)
  var index: Int { Int(number) - 1 }
}
