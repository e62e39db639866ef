/// Which readers are being sent which reload, and since when. It has no clock: the caller passes times in milliseconds.
///
/// When too many bytes are queued, the slowest readers are disconnected. Only the last reader releases a reload, so all
/// readers of one reload are judged together, by the fastest of them.
struct ReloadLoans: Sendable {
  struct Loan: Sendable {
    let reload: ObjectIdentifier
    /// The bytes that the reader is sent.
    let byteCount: Int
    let since: Int64
  }

  /// For so many milliseconds, a new reader does not count as slow.
  static let graceMilliseconds: Int64 = 2_000
  /// A reader that takes at least this many bytes per second is not slow.
  static let bytesPerSecond = 256 << 10
  /// Reloads up to this size are always sent, and their readers are never disconnected.
  static let smallBytes = 64 << 10

  private(set) var loans: [Int: Loan] = [:]
  private var nextNumber = 0

  mutating func begin(_ reload: ObjectIdentifier, byteCount: Int, at now: Int64) -> Int {
    defer { nextNumber += 1 }
    loans[nextNumber] = Loan(reload: reload, byteCount: byteCount, since: now)
    return nextNumber
  }

  mutating func end(_ number: Int) {
    loans[number] = nil
  }

  /// The readers to disconnect first: all readers of the slowest reload. None if every reload has a reader that is not
  /// slow.
  ///
  /// - Parameters:
  ///   - kept: a reload whose readers must not be disconnected.
  ///   - remaining: queued bytes by loan.
  func slowest(at now: Int64, except kept: ObjectIdentifier?, remaining: [Int: Int]) -> [Int] {
    var readers: [ObjectIdentifier: (numbers: [Int], rate: Int)] = [:]
    for (number, loan) in loans where loan.reload != kept && loan.byteCount > Self.smallBytes {
      let taken = max(0, loan.byteCount - (remaining[number] ?? 0))
      let age = now - loan.since
      let rate = age < Self.graceMilliseconds ? Int.max : taken / Int(age) * 1000
      let known = readers[loan.reload] ?? ([], 0)
      readers[loan.reload] = (known.numbers + [number], max(known.rate, rate))
    }
    // Among equally slow ones, the oldest.
    let slowest = readers.values.min { ($0.rate, $0.numbers.min() ?? 0) < ($1.rate, $1.numbers.min() ?? 0) }
    guard let slowest, slowest.rate < Self.bytesPerSecond else { return [] }
    return slowest.numbers
  }
}
