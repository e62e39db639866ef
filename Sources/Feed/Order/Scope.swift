/// Names a list of a feed: that of its sections, or that of one section's items.
struct Scope: Hashable {
  /// Where the list stands among the state's: that of the sections first.
  private let number: UInt32

  @inline(__always)
  private init(number: UInt32) { self.number = number }

  /// The list of sections.
  static var sections: Scope {
    @inline(__always) get { Scope(number: 0) }
  }

  /// The list of a section's items.
  @inline(__always)
  static func items(of section: ElementHandle) -> Scope { Scope(number: section.number + 1) }

  @inline(__always)
  var isSections: Bool { number == 0 }

  /// The section whose items the list has.
  @inline(__always)
  var section: ElementHandle {
    assert(!isSections, "the list of sections is in no section")
    return ElementHandle(number &- 1)
  }

  @inline(__always)
  var index: Int { Int(number) }
}

extension Scope: Packable {
  /// No section has a handle this large: an `OrderEntry` holds 30 bits.
  static var vacant: Scope {
    @inline(__always) get { Scope(number: .max) }
  }
}
