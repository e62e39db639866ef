import Service
import Synchronization

/// Counts the bytes of all reloads that live, knows who is being sent them, and gives up the slowest readers when they
/// are too many.
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
  ///   - limit: bytes of all that wait to be sent.
  ///   - now: milliseconds of a clock that never goes back.
  init(limit: Int, now: @escaping @Sendable () -> Int64 = { MonotonicClock.milliseconds() }) {
    self.limit = limit
    self.now = now
  }

  /// Bytes of all reloads that live.
  var byteCount: Int { count.load(ordering: .relaxed) }
  var isFull: Bool { byteCount > limit }

  func add(_ bytes: Int) { count.add(bytes, ordering: .relaxed) }

  /// Notes that a reader is sent a reload.
  ///
  /// - Parameter byteCount: of what it is sent.
  /// - Returns: To be kept until it was sent everything.
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
    // Let go after the lock.
    _ = state.withLock { state in
      state.loans.end(number)
      return state.readers.removeValue(forKey: number)
    }
  }

  /// Gives up slow readers until no more waits than may, or nobody is slow. Takes the locks of readers.
  ///
  /// - Parameter reload: which others are to make room for.
  /// - Returns: Whether it can be sent: there is room, or it is so small that it always is.
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
    // What is sent to somebody already costs nothing more.
    return !isFull || reload.byteCount <= ReloadLoans.smallBytes || isAlone(reload)
  }

  /// Whether no other reload that is not small is being sent: one that is larger than the limit can be sent then.
  private func isAlone(_ reload: FeedReload) -> Bool {
    state.withLock { state in
      state.loans.loans.values.allSatisfy {
        $0.reload == ObjectIdentifier(reload) || $0.byteCount <= ReloadLoans.smallBytes
      }
    }
  }
}
