/// Counts records by age in bounded memory, whatever the ages: by the millisecond up to 64, then with an error of 2 % at
/// most.
///
/// Ages are counted from one moment, so records that are made after it have negative ones.
struct RecordAges {
  private var old = [UInt32](repeating: 0, count: Self.bucketCount)
  private var young = [UInt32](repeating: 0, count: Self.bucketCount)

  /// Each power of two is divided into so many buckets.
  private static let bits: Int64 = 5
  /// Up to here a bucket has one millisecond.
  private static let exact: Int64 = 64
  /// About 139 years: more than since 1970.
  private static let greatest: Int64 = 1 << 42
  private static let bucketCount = bucket(of: greatest) + 1

  /// - Parameter age: in milliseconds.
  mutating func add(_ age: Int64, times: UInt32 = 1) {
    let bucket = Self.bucket(of: Int64(clamping: age.magnitude))
    if age >= 0 { old[bucket] &+= times } else { young[bucket] &+= times }
  }

  /// Tells the ages, each with its number of records, and forgets them.
  mutating func take(_ body: (_ age: Double, _ count: Int) -> Void) {
    for index in 0..<Self.bucketCount {
      if old[index] > 0 { body(Self.middle(of: index), Int(old[index])) }
      if young[index] > 0 { body(-Self.middle(of: index), Int(young[index])) }
      old[index] = 0
      young[index] = 0
    }
  }

  mutating func removeAll() {
    for index in 0..<Self.bucketCount {
      old[index] = 0
      young[index] = 0
    }
  }

  /// - Parameter age: not negative.
  private static func bucket(of age: Int64) -> Int {
    if age < exact { return Int(age) }
    let age = min(age, greatest)
    let exponent = Int64(63 - age.leadingZeroBitCount)
    let within = (age >> (exponent - bits)) & ((1 << bits) - 1)
    return Int(exact + (exponent - 6) << bits + within)
  }

  private static func middle(of bucket: Int) -> Double {
    let number = Int64(bucket)
    if number < exact { return Double(number) }
    let exponent = (number - exact) >> bits + 6
    let within = (number - exact) & ((1 << bits) - 1)
    let width = Int64(1) << (exponent - bits)
    return Double((1 << exponent) + within * width) + Double(width - 1) / 2
  }
}
