import Service
import Synchronization

/// Counts the bytes of all live reloads, records their readers, and disconnects the slowest readers when the total
/// exceeds the limit.
final class ReloadLedger: Sendable {
  private let limit: Int
  private let now: @Sendable () -> Int64
  private let count = Atomic(0)
  private let state = Mutex(State())

  private struct State {
    var loans = ReloadLoans()
    var readers: [Int: any ReloadReader] = [:]
  }

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
  /// - Parameter byteCount: the size of what it is sent.
  /// - Returns: a loan, to be kept until everything has been sent.
  func lend(_ reload: FeedReload, to reader: any ReloadReader, byteCount: Int) -> ReloadLoan {
    let time = now()
    let number = state.withLock { state in
      let number = state.loans.begin(ObjectIdentifier(reload), byteCount: byteCount, at: time)
      state.readers[number] = reader
      return number
    }
    return ReloadLoan(reload, number, self)
  }

  func end(_ number: Int) {
    // Released after the lock.
    _ = state.withLock { state in
      state.loans.end(number)
      return state.readers.removeValue(forKey: number)
    }
  }

  /// Disconnects slow readers until the total is within the limit or no reader is slow. Takes the readers' locks.
  ///
  /// - Parameter reload: the reload that others have to make room for.
  /// - Returns: whether it can be sent: there is room, or it is so small that it always is.
  func makeRoom(for reload: FeedReload) -> Bool {
    while isFull {
      let (loans, readers) = state.withLock { ($0.loans, $0.readers) }
      let slowest = loans.slowest(
        at: now(),
        except: ObjectIdentifier(reload),
        remaining: readers.mapValues(\.remainingBytes)
      )
      guard !slowest.isEmpty else { break }
      for number in slowest {
        readers[number]?.cut()
        end(number)
      }
    }
    // Another reader of the same reload costs nothing more.
    return !isFull || reload.byteCount <= ReloadLoans.smallBytes || isAlone(reload)
  }

  /// Whether no other large reload is being sent. A reload larger than the limit can be sent only then.
  private func isAlone(_ reload: FeedReload) -> Bool {
    state.withLock { state in
      state.loans.loans.values.allSatisfy {
        $0.reload == ObjectIdentifier(reload) || $0.byteCount <= ReloadLoans.smallBytes
      }
    }
  }
}
