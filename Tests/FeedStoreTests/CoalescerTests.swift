import FeedStore
import Testing

/// When waiting records are published: the three bounds of the protocol, and times at their edges.
struct CoalescerTests {
  /// A coalescer by reference, as expectations do not change values.
  @dynamicMemberLookup
  private final class Shared {
    private var coalescer: Coalescer

    init(_ options: CoalescingOptions) { coalescer = Coalescer(options) }

    subscript<Value>(dynamicMember path: KeyPath<Coalescer, Value>) -> Value { coalescer[keyPath: path] }
    func isFlushDue(at time: Int64) -> Bool { coalescer.isFlushDue(at: time) }
    func begin(at time: Int64) { coalescer.begin(at: time) }
    func add(bytes: Int, copied: Int = 0, at time: Int64) -> Bool {
      coalescer.add(bytes: bytes, copiedBytes: copied, at: time)
    }
    func publish(in milliseconds: Int64) {
      coalescer.notePublication(milliseconds: milliseconds)
      coalescer.reset()
    }
    func reset() { coalescer.reset() }
    func fallBehind(_ isBehind: Bool = true) { coalescer.isBehind = isBehind }
  }

  /// - Parameter idle: the idle window; nil for one that is as long as the window.
  private func coalescer(
    window: Int64 = 100,
    idle: Int64? = nil,
    records: Int = 1_000,
    bytes: Int = 1_000_000
  ) -> Shared {
    var options = CoalescingOptions()
    options.windowMilliseconds = window
    options.idleWindowMilliseconds = idle ?? window
    options.backlogWindowMilliseconds = 250
    options.backlogMaxRecords = 5
    options.backlogMaxBytes = 20
    options.maxRecords = records
    options.maxBytes = bytes
    return Shared(options)
  }

  @Test func `nothing is due while nothing waits`() {
    let coalescer = coalescer()
    #expect(coalescer.deadline == nil)
    #expect(!coalescer.isFlushDue(at: .max))
  }

  @Test func `the window counts from the first record that waits`() {
    let coalescer = coalescer()
    #expect(!coalescer.add(bytes: 1, at: 1_000))
    #expect(!coalescer.add(bytes: 1, at: 1_099))
    #expect(coalescer.deadline == 1_100)
    #expect(!coalescer.isFlushDue(at: 1_099))
    #expect(coalescer.isFlushDue(at: 1_100))
  }

  @Test func `a record that is older than the first one is not due`() {
    let coalescer = coalescer()
    _ = coalescer.add(bytes: 1, at: 1_000)
    #expect(!coalescer.isFlushDue(at: 0))
  }

  @Test func `with a window of 0 every record flushes those before it, however old it is`() {
    let coalescer = coalescer(window: 0)
    #expect(!coalescer.isFlushDue(at: 5))
    #expect(!coalescer.add(bytes: 1, at: 5))
    #expect(coalescer.isFlushDue(at: 5))
    #expect(coalescer.isFlushDue(at: 1))
  }

  @Test func `the record that reaches the greatest number is the last`() {
    let coalescer = coalescer(records: 3)
    #expect(!coalescer.add(bytes: 1, at: 0))
    #expect(!coalescer.add(bytes: 1, at: 0))
    #expect(coalescer.add(bytes: 1, at: 0))
    #expect(coalescer.waitingRecords == 3)
  }

  @Test func `the record that reaches the greatest bytes is the last`() {
    let coalescer = coalescer(bytes: 10)
    #expect(!coalescer.add(bytes: 9, at: 0))
    #expect(coalescer.add(bytes: 1, at: 0))
    #expect(coalescer.waitingBytes == 10)
  }

  @Test func `what is no record begins the window, too, and counts as none`() {
    let coalescer = coalescer(records: 1)
    coalescer.begin(at: 50)
    coalescer.begin(at: 70)
    #expect(coalescer.deadline == 150)
    #expect(coalescer.waitingRecords == 0)
  }

  @Test func `after a publication everything begins again`() {
    let coalescer = coalescer(records: 2, bytes: 10)
    _ = coalescer.add(bytes: 9, at: 0)
    coalescer.reset()
    #expect(coalescer.deadline == nil)
    #expect(!coalescer.add(bytes: 9, at: 500))
    #expect(coalescer.deadline == 600)
    #expect(coalescer.waitingRecords == 1 && coalescer.waitingBytes == 9)
  }

  @Test func `a window beyond the end of time ends there`() {
    let coalescer = coalescer(window: 100)
    _ = coalescer.add(bytes: 1, at: .max - 5)
    #expect(coalescer.deadline == .max)
    #expect(coalescer.isFlushDue(at: .max))
  }

  // MARK: The idle window

  @Test func `a lone record waits for the idle window`() {
    let coalescer = coalescer(idle: 10)
    _ = coalescer.add(bytes: 1, at: 1_000)
    #expect(coalescer.deadline == 1_010)
  }

  @Test func `what comes soon after a publication waits until a window has passed since that was due`() {
    let coalescer = coalescer(idle: 10)
    _ = coalescer.add(bytes: 1, at: 1_000)
    coalescer.reset()
    _ = coalescer.add(bytes: 1, at: 1_030)
    #expect(coalescer.deadline == 1_110)
    coalescer.reset()
    // Not for less than the idle window, though.
    _ = coalescer.add(bytes: 1, at: 1_205)
    #expect(coalescer.deadline == 1_215)
    coalescer.reset()
    _ = coalescer.add(bytes: 1, at: 1_315)
    #expect(coalescer.deadline == 1_325)
  }

  @Test func `a record from before the last publication waits for a window`() {
    let coalescer = coalescer(idle: 10)
    _ = coalescer.add(bytes: 1, at: 1_000)
    coalescer.reset()
    _ = coalescer.add(bytes: 1, at: 500)
    #expect(coalescer.deadline == 600)
  }

  @Test func `a publication of many records was due when the last of them came`() {
    let coalescer = coalescer(idle: 10, records: 2)
    _ = coalescer.add(bytes: 1, at: 1_000)
    #expect(coalescer.add(bytes: 1, at: 1_004))
    coalescer.reset()
    _ = coalescer.add(bytes: 1, at: 1_005)
    #expect(coalescer.deadline == 1_104)
  }

  @Test func `an idle window longer than the window is the window`() {
    let coalescer = coalescer(idle: 500)
    _ = coalescer.add(bytes: 1, at: 1_000)
    #expect(coalescer.deadline == 1_100)
  }

  // MARK: The backlog

  @Test func `while the input is behind more records and bytes may wait, and longer`() {
    let coalescer = coalescer(idle: 10, records: 2, bytes: 10)
    coalescer.fallBehind()
    _ = coalescer.add(bytes: 1, at: 1_000)
    #expect(coalescer.deadline == 1_250)
    #expect(!coalescer.add(bytes: 11, at: 1_000))
    #expect(!coalescer.add(bytes: 1, at: 1_000))
    #expect(!coalescer.add(bytes: 1, at: 1_000))
    #expect(coalescer.add(bytes: 1, at: 1_001), "the fifth record")
    coalescer.reset()
    #expect(!coalescer.add(bytes: 19, at: 1_002))
    #expect(coalescer.add(bytes: 1, at: 1_003), "the twentieth byte")
  }

  @Test func `records that are pending when the input has caught up are due as usual`() {
    let coalescer = coalescer(idle: 10, records: 2)
    coalescer.fallBehind()
    for _ in 0..<3 { #expect(!coalescer.add(bytes: 1, at: 1_000)) }
    coalescer.fallBehind(false)
    #expect(coalescer.deadline == 1_010)
    #expect(coalescer.add(bytes: 1, at: 1_000))
  }

  @Test func `bounds of the backlog that are less than the usual ones do not count`() {
    let coalescer = coalescer(window: 1_000, records: 100)
    coalescer.fallBehind()
    for _ in 0..<10 { #expect(!coalescer.add(bytes: 1, at: 0)) }
    #expect(coalescer.deadline == 1_000)
  }

  @Test func `with a window of 0 the backlog changes nothing`() {
    let coalescer = coalescer(window: 0, records: 2)
    coalescer.fallBehind()
    _ = coalescer.add(bytes: 1, at: 0)
    #expect(coalescer.isFlushDue(at: 0))
    #expect(coalescer.add(bytes: 1, at: 0))
  }

  @Test func `copies of rejected records have no more room while the input is behind`() {
    let coalescer = coalescer(records: 2, bytes: 10)
    coalescer.fallBehind()
    #expect(!coalescer.add(bytes: 12, copied: 9, at: 0))
    #expect(coalescer.add(bytes: 1, copied: 10, at: 0))
  }

  /// How many bytes may wait, as the record that reaches them is flushed at once.
  private func room(_ coalescer: Shared) -> Int {
    var bytes = 1
    while !coalescer.add(bytes: 1, at: 0) { bytes += 1 }
    coalescer.reset()
    return bytes
  }

  private func slowCoalescer() -> Shared {
    var options = CoalescingOptions()
    options.maxBytes = 10
    options.backlogMaxBytes = 1_000
    let coalescer = Shared(options)
    coalescer.fallBehind()
    return coalescer
  }

  @Test func `fewer bytes may wait after a commit that took longer than it may`() {
    let coalescer = slowCoalescer()
    #expect(room(coalescer) == 1_000)
    _ = coalescer.add(bytes: 1_000, at: 0)
    coalescer.publish(in: 251)
    #expect(room(coalescer) == 996)
    _ = coalescer.add(bytes: 996, at: 0)
    coalescer.publish(in: 500)
    #expect(room(coalescer) == 498)
  }

  @Test func `slow commits leave an eighth of the bytes`() {
    let coalescer = slowCoalescer()
    for _ in 0..<5 {
      _ = coalescer.add(bytes: 100, at: 0)
      coalescer.publish(in: 10_000)
    }
    #expect(room(coalescer) == 125)
  }

  @Test func `more bytes may wait again after commits of half the time, if as much was committed`() {
    let coalescer = slowCoalescer()
    _ = coalescer.add(bytes: 1_000, at: 0)
    coalescer.publish(in: 1_000)
    #expect(room(coalescer) == 250)
    _ = coalescer.add(bytes: 124, at: 0)
    coalescer.publish(in: 1)
    #expect(room(coalescer) == 250, "too little was committed to tell")
    _ = coalescer.add(bytes: 250, at: 0)
    coalescer.publish(in: 126)
    #expect(room(coalescer) == 250)
    for room in [500, 1_000, 1_000] {
      _ = coalescer.add(bytes: 600, at: 0)
      coalescer.publish(in: 125)
      #expect(self.room(coalescer) == room)
    }
  }
}
