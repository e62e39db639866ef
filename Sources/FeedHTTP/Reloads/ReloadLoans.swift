/// Who is being sent which reload since when. Without a clock: times are milliseconds that the caller gives.
///
/// When too much waits, the slowest readers are given up. A reload is let go only when nobody reads it any more, so
/// that all readers of one are judged together, by the fastest of them.
struct ReloadLoans: Sendable {
  struct Loan: Sendable {
    let reload: ObjectIdentifier
    /// Bytes that its reader is sent.
    let byteCount: Int
    let since: Int64
  }

  /// How long nobody is called slow, in milliseconds.
  static let graceMilliseconds: Int64 = 2_000
  /// Who has taken as many bytes in each second is not slow.
  static let bytesPerSecond = 256 << 10
  /// Reloads up to this are always sent, and never given up.
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

  /// The readers to give up first: all of the reload that is read most slowly. None if no reload has slow readers only.
  ///
  /// - Parameters:
  ///   - kept: a reload that is not to be given up.
  ///   - remaining: bytes that wait, by loan.
  func slowest(at now: Int64, except kept: ObjectIdentifier?, remaining: [Int: Int]) -> [Int] {
    var readers: [ObjectIdentifier: (numbers: [Int], rate: Int)] = [:]
    for (number, loan) in loans where loan.reload != kept && loan.byteCount > Self.smallBytes {
      let taken = max(0, loan.byteCount - (remaining[number] ?? 0))
      let age = now - loan.since
      let rate = age < Self.graceMilliseconds ? Int.max : taken / Int(age) * 1000
      let known = readers[loan.reload] ?? ([], 0)
      readers[loan.reload] = (known.numbers + [number], max(known.rate, rate))
    }
    // Of those that are equally slow, the one that began first.
    let slowest = readers.values.min { ($0.rate, $0.numbers.min() ?? 0) < ($1.rate, $1.numbers.min() ?? 0) }
    guard let slowest, slowest.rate < Self.bytesPerSecond else { return [] }
    return slowest.numbers
  }
}
