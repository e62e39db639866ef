/// Something that becomes twice as long with each failure, up to a bound: pauses, and times that are allowed.
struct Doubling<Value: FixedWidthInteger & Sendable>: Sendable {
  let least: Value
  let greatest: Value

  init(from least: Value, to greatest: Value) {
    self.least = least
    self.greatest = greatest
  }

  /// The value after so many doublings.
  subscript(times: Int) -> Value {
    // Far beyond any bound, and far from an overflow.
    min(greatest, least << Value(min(times, 16)))
  }
}
