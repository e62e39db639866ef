/// When the memory that catching up has taken is given back to the system: once, some time after the input was behind for
/// the last time, as what is behind now and then takes the same memory again.
struct MemoryReturn {
  private var lastBehind: Int64?

  static let pauseMilliseconds: Int64 = 10_000

  /// - Parameter now: the time in milliseconds, which does not go back.
  mutating func isDue(isBehind: Bool, at now: Int64) -> Bool {
    if isBehind {
      lastBehind = now
      return false
    }
    guard let time = lastBehind, now - time >= Self.pauseMilliseconds else { return false }
    lastBehind = nil
    return true
  }
}
