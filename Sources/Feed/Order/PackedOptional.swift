/// A value that an optional of it can do without: the optional then takes no more memory than the value.
protocol Packable: Equatable {
  /// What stands for nil.
  static var vacant: Self { get }
}

/// A value or nil, in as many bytes as the value.
struct PackedOptional<Value: Packable>: Equatable {
  private var stored: Value

  @inline(__always)
  init(_ value: Value) {
    assert(value != Value.vacant, "the value stands for nil")
    stored = value
  }

  @inline(__always)
  private init(stored: Value) { self.stored = stored }

  /// No value.
  static var none: PackedOptional {
    @inline(__always) get { PackedOptional(stored: Value.vacant) }
  }

  @inline(__always)
  var isNone: Bool { stored == Value.vacant }

  /// For reading with `if let`.
  @inline(__always)
  var value: Value? { isNone ? nil : stored }

  /// The value where there is one.
  @inline(__always)
  var known: Value {
    assert(!isNone, "there is no value")
    return stored
  }

  @inline(__always)
  static func == (one: PackedOptional, other: Value) -> Bool { one.stored == other }

  @inline(__always)
  static func != (one: PackedOptional, other: Value) -> Bool { one.stored != other }
}
