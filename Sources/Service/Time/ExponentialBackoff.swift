/// A pause or a timeout that doubles with each failure, up to a maximum.
package struct ExponentialBackoff<Value: FixedWidthInteger & Sendable>: Sendable {
  package let least: Value
  package let greatest: Value

  package init(from least: Value, to greatest: Value) {
    self.least = least
    self.greatest = greatest
  }

  /// The value after so many doublings.
  package subscript(times: Int) -> Value {
    // 16 doublings exceed any maximum, and cannot overflow.
    min(greatest, least << Value(min(times, 16)))
  }
}
