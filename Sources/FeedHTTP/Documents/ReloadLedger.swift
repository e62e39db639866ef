import FeedClient
import HTTP
import OperatingSystem
import Queues
import Synchronization

/// Counts the bytes of all live reloads, records their readers, and disconnects the slowest readers when the total
/// exceeds the limit.
///
/// Only the last reader releases a reload, so all readers of one reload are judged together, by the fastest of them.
final class ReloadLedger: Sendable {
  private let limit: Int
  private let now: @Sendable () -> Int64
  private let count = Atomic(0)
  private let state = Mutex(State())

  private struct State {
    var loans: [Int: Loan] = [:]
    var nextNumber = 0
  }

  private struct Loan: Sendable {
    let reload: ObjectIdentifier
    let reader: any ReloadReader
    /// The bytes that the reader receives.
    let byteCount: Int
    let since: Int64
  }

  /// A new reader does not count as slow for this many milliseconds.
  private static let graceMilliseconds: Int64 = 2_000
  /// A reader that takes at least this many bytes per second is not slow.
  private static let bytesPerSecond = 256 << 10
  /// Reloads up to this size are always sent, and their readers are never disconnected.
  private static let smallBytes = 64 << 10

  /// - Parameters:
  ///   - limit: the bytes of all reloads that are being sent.
  ///   - now: milliseconds of a monotonic clock.
  init(limit: Int, now: @escaping @Sendable () -> Int64 = { MonotonicClock.milliseconds() }) {
    self.limit = limit
    self.now = now
  }

  /// Bytes of all live reloads.
  var byteCount: Int { count.load(ordering: .relaxed) }
  var isFull: Bool { byteCount > limit }

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }

  /// Records that a reader is being sent a reload.
  ///
  /// - Parameter byteCount: the size of the document that the reader receives.
  /// - Returns: a loan, to be kept until everything has been sent.
  func lend(_ reload: FeedReload, to reader: any ReloadReader, byteCount: Int) -> ReloadLoan {
    let loan = Loan(reload: ObjectIdentifier(reload), reader: reader, byteCount: byteCount, since: now())
    let number = state.withLock { state in
      defer { state.nextNumber += 1 }
      state.loans[state.nextNumber] = loan
      return state.nextNumber
    }
    return ReloadLoan(reload, number, self)
  }

  func end(_ number: Int) {
    // Released after the lock.
    _ = state.withLock { $0.loans.removeValue(forKey: number) }
  }

  /// Disconnects slow readers until the total is within the limit or no reader is slow. Takes the readers' locks.
  ///
  /// - Parameter reload: the reload that needs room.
  /// - Returns: whether it can be sent: there is room, or it is small enough to be sent always.
  func makeRoom(for reload: FeedReload) -> Bool {
    while isFull {
      let loans = state.withLock(\.loans)
      let slowest = slowest(of: loans, except: ObjectIdentifier(reload))
      guard !slowest.isEmpty else { break }
      for number in slowest {
        loans[number]?.reader.cut()
        end(number)
      }
    }
    // Another reader of the same reload needs no further memory.
    return !isFull || reload.byteCount <= Self.smallBytes || isAlone(reload)
  }

  /// The readers to disconnect first: all readers of the slowest reload. None if every reload has a fast reader.
  ///
  /// - Parameter kept: a reload whose readers must not be disconnected.
  private func slowest(of loans: [Int: Loan], except kept: ObjectIdentifier) -> [Int] {
    let now = now()
    var readers: [ObjectIdentifier: (numbers: [Int], rate: Int)] = [:]
    for (number, loan) in loans where loan.reload != kept && loan.byteCount > Self.smallBytes {
      let taken = max(0, loan.byteCount - loan.reader.remainingBytes)
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

  /// Whether no other large reload is being sent. A reload larger than the limit can be sent only then.
  private func isAlone(_ reload: FeedReload) -> Bool {
    state.withLock { state in
      state.loans.values.allSatisfy {
        $0.reload == ObjectIdentifier(reload) || $0.byteCount <= Self.smallBytes
      }
    }
  }
}

/// The sending of one reload to one reader. It keeps the reload alive until everything has been sent or the
/// reader is disconnected.
final class ReloadLoan: Sendable {
  private let reload: FeedReload
  private let number: Int
  private let ledger: ReloadLedger

  init(_ reload: FeedReload, _ number: Int, _ ledger: ReloadLedger) {
    self.reload = reload
    self.number = number
    self.ledger = ledger
  }

  deinit { ledger.end(number) }
}

/// A receiver of a reload.
protocol ReloadReader: AnyObject, Sendable {
  /// Bytes that are still queued for it.
  var remainingBytes: Int { get }
  /// Stops sending and frees the queue at once.
  func cut()
}

extension EventStream: ReloadReader {
  var remainingBytes: Int { queuedBytes }
}

extension HTTPTransfer: ReloadReader {}

/// The order in which entries of views were added, so that the oldest can be evicted first. Entries that were removed
/// out of turn stay in the order and are skipped. They are purged when they make up more than half of it.
struct EvictionOrder {
  private var numbers = Queue<(view: ViewAddress, number: Int)>()
  private var nextNumber = 0

  /// Below this count, purging is not worthwhile.
  private static let leastCount = 64

  /// The number of entries, including removed ones.
  var count: Int { numbers.count }

  /// Adds an entry of a view and returns its number.
  mutating func append(_ view: ViewAddress) -> Int {
    defer { nextNumber += 1 }
    numbers.append((view, nextNumber))
    return nextNumber
  }

  /// Removes and returns the oldest entry, which may have been removed already.
  mutating func removeFirst() -> (view: ViewAddress, number: Int)? { numbers.removeFirst() }

  /// Purges removed entries if they make up more than half.
  ///
  /// - Parameters:
  ///   - count: the number of entries that still exist.
  ///   - isKept: whether the entry with a number still exists.
  mutating func forgetGone(keeping count: Int, _ isKept: (ViewAddress, Int) -> Bool) {
    guard numbers.count > max(Self.leastCount, 2 * count) else { return }
    _ = numbers.removeAll { !isKept($0.view, $0.number) }
  }
}
