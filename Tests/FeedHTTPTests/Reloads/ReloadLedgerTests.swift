import Synchronization
import Testing

@testable import FeedHTTP

/// The readers to disconnect when too many bytes are queued.
final class ReloadLedgerTests {
  private final class Reader: ReloadReader {
    let state: Mutex<(remaining: Int, loan: ReloadLoan?, isCut: Bool)>

    init(_ remaining: Int) { state = Mutex((remaining, nil, false)) }

    var remainingBytes: Int { state.withLock { $0.remaining } }
    var isCut: Bool { state.withLock { $0.isCut } }

    func cut() {
      // Released outside the lock.
      _ = state.withLock { state in
        defer { state = (0, nil, true) }
        return state.loan
      }
    }
  }

  private final class Clock: Sendable {
    let milliseconds = Atomic<Int64>(0)
  }

  private let clock = Clock()
  private let ledger: ReloadLedger
  private var readers: [Reader] = []

  deinit {
    // A reader during sending keeps its loan, and thereby the ledger.
    for reader in readers { reader.cut() }
  }

  init() {
    ledger = ReloadLedger(limit: 1 << 20) { [clock] in clock.milliseconds.load(ordering: .relaxed) }
  }

  private func reload(_ revision: UInt64, bytes: Int) -> FeedReload {
    FeedReload(FeedVersion(epoch: "e/1", revision: revision), [UInt8](repeating: 0x20, count: bytes), ledger)
  }

  private func read(_ reload: FeedReload, remaining: Int, of bytes: Int = 400_000) -> Reader {
    let reader = Reader(remaining)
    let loan = ledger.lend(reload, to: reader, byteCount: bytes)
    reader.state.withLock { $0.loan = loan }
    readers.append(reader)
    return reader
  }

  private func advance(_ milliseconds: Int64) {
    clock.milliseconds.add(milliseconds, ordering: .relaxed)
  }

  @Test func `the slowest reader is disconnected, and not the next one`() {
    // About 400,000 bytes each: a document and a message.
    let fast = read(reload(1, bytes: 200_000), remaining: -200_000)
    let slow = read(reload(2, bytes: 200_000), remaining: 350_000)
    let slower = read(reload(3, bytes: 200_000), remaining: 400_000)
    advance(2_000)
    #expect(ledger.makeRoom(for: reload(4, bytes: 100_000)))
    #expect(slower.isCut && !slow.isCut && !fast.isCut)
  }

  @Test func `a reader that is new or fast is not disconnected`() {
    let readers = (1...2).map { read(reload($0, bytes: 400_000), remaining: 400_000) }
    let next = reload(3, bytes: 400_000)
    advance(1_999)
    #expect(!ledger.makeRoom(for: next))
    #expect(readers.allSatisfy { !$0.isCut })
    for reader in readers { reader.state.withLock { $0.remaining = -200_000 } }
    advance(1)
    #expect(!ledger.makeRoom(for: next))
    #expect(readers.allSatisfy { !$0.isCut })
    readers[1].state.withLock { $0.remaining = 300_000 }
    #expect(!ledger.makeRoom(for: next))
    #expect(readers.map(\.isCut) == [false, true])
  }

  @Test func `a small feed is always sent`() {
    let readers = (1...4).map { read(reload($0, bytes: 400_000), remaining: 400_000) }
    let small = reload(9, bytes: 20_000)
    #expect(ledger.makeRoom(for: small))
    let reader = read(small, remaining: 20_000, of: 20_000)
    advance(60_000)
    #expect(ledger.makeRoom(for: reload(10, bytes: 400_000)))
    #expect(!reader.isCut)
    #expect(readers.contains { $0.isCut })
    #expect(!ledger.isFull)
  }

  @Test func `readers of one version are judged by the fastest of them`() {
    let shared = reload(1, bytes: 400_000)
    let slow = read(shared, remaining: 400_000)
    let fast = read(shared, remaining: -2_000_000)
    let others = [read(reload(2, bytes: 400_000), remaining: 350_000)]
    advance(2_000)
    _ = ledger.makeRoom(for: reload(3, bytes: 400_000))
    #expect(!slow.isCut && !fast.isCut)
    #expect(others[0].isCut)
  }

  @Test func `a feed larger than the limit is sent if no other is`() {
    let large = reload(1, bytes: 2_000_000)
    #expect(ledger.makeRoom(for: large))
    let reader = read(large, remaining: 2_000_000, of: 2_000_000)
    // Further readers cost nothing.
    #expect(ledger.makeRoom(for: large))
    #expect(!ledger.makeRoom(for: reload(2, bytes: 2_000_000)))
    reader.cut()
  }

  @Test func `nothing is counted any more once everything was sent`() {
    do {
      let readers = (1...3).map { read(reload($0, bytes: 1_000), remaining: 1_000, of: 1_000) }
      #expect(ledger.byteCount > 6_000)
      for reader in readers { reader.cut() }
    }
    #expect(ledger.byteCount == 0)
  }
}
