/// A pause or a timeout that doubles with each failure, up to a maximum.
struct ExponentialBackoff<Value: FixedWidthInteger & Sendable>: Sendable {
  let least: Value
  let greatest: Value

  init(from least: Value, to greatest: Value) {
    self.least = least
    self.greatest = greatest
  }

  /// The value after a number of failures beyond the first.
  subscript(times: Int) -> Value {
    // 16 doublings exceed every maximum in use, and do not overflow.
    min(greatest, least << Value(min(times, 16)))
  }
}
