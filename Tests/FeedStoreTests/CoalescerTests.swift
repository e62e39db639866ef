import FeedStore
import Testing

/// When waiting records are published: the three limits of the protocol, and edge cases of times.
struct CoalescerTests {
  /// A coalescer by reference, because expectations cannot mutate values.
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

  /// - Parameter idle: the idle window; nil for the same length as the window.
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

  @Test func `nothing is due if no records wait`() {
    let coalescer = coalescer()
    #expect(coalescer.deadline == nil)
    #expect(!coalescer.isFlushDue(at: .max))
  }

  @Test func `the window starts with the first waiting record`() {
    let coalescer = coalescer()
    #expect(!coalescer.add(bytes: 1, at: 1_000))
    #expect(!coalescer.add(bytes: 1, at: 1_099))
    #expect(coalescer.deadline == 1_100)
    #expect(!coalescer.isFlushDue(at: 1_099))
    #expect(!coalescer.isFlushDue(at: 0))
    #expect(coalescer.isFlushDue(at: 1_100))
  }

  @Test func `with a window of 0, every record flushes those before it, however old it is`() {
    let coalescer = coalescer(window: 0)
    #expect(!coalescer.isFlushDue(at: 5))
    #expect(!coalescer.add(bytes: 1, at: 5))
    #expect(coalescer.isFlushDue(at: 5))
    #expect(coalescer.isFlushDue(at: 1))
  }

  @Test func `the record that reaches the maximum number is the last of its window`() {
    let coalescer = coalescer(records: 3)
    #expect(!coalescer.add(bytes: 1, at: 0))
    #expect(!coalescer.add(bytes: 1, at: 0))
    #expect(coalescer.add(bytes: 1, at: 0))
    #expect(coalescer.waitingRecords == 3)
  }

  @Test func `the record that reaches the maximum bytes is the last of its window`() {
    let coalescer = coalescer(bytes: 10)
    #expect(!coalescer.add(bytes: 9, at: 0))
    #expect(coalescer.add(bytes: 1, at: 0))
    #expect(coalescer.waitingBytes == 10)
  }

  @Test func `a covered position starts the window, but does not count as a record`() {
    let coalescer = coalescer(records: 1)
    coalescer.begin(at: 50)
    coalescer.begin(at: 70)
    #expect(coalescer.deadline == 150)
    #expect(coalescer.waitingRecords == 0)
  }

  @Test func `a publication resets the window and the counts`() {
    let coalescer = coalescer(records: 2, bytes: 10)
    _ = coalescer.add(bytes: 9, at: 0)
    coalescer.reset()
    #expect(coalescer.deadline == nil)
    #expect(!coalescer.add(bytes: 9, at: 500))
    #expect(coalescer.deadline == 600)
    #expect(coalescer.waitingRecords == 1 && coalescer.waitingBytes == 9)
  }

  @Test func `a deadline that would overflow is the end of time`() {
    let coalescer = coalescer(window: 100)
    _ = coalescer.add(bytes: 1, at: .max - 5)
    #expect(coalescer.deadline == .max)
    #expect(coalescer.isFlushDue(at: .max))
  }

  // MARK: The idle window

  @Test(arguments: [(10, 1_010), (500, 1_100)] as [(Int64, Int64)])
  func `a lone record waits for the idle window, but not for longer than the window`(
    idle: Int64,
    deadline: Int64
  ) {
    let coalescer = coalescer(idle: idle)
    _ = coalescer.add(bytes: 1, at: 1_000)
    #expect(coalescer.deadline == deadline)
  }

  @Test func `a record soon after a publication waits until a window has passed since that was due`() {
    let coalescer = coalescer(idle: 10)
    _ = coalescer.add(bytes: 1, at: 1_000)
    coalescer.reset()
    _ = coalescer.add(bytes: 1, at: 1_030)
    #expect(coalescer.deadline == 1_110)
    coalescer.reset()
    // But not for less than the idle window.
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

  @Test func `a publication that reached the maximum number was due with its last record`() {
    let coalescer = coalescer(idle: 10, records: 2)
    _ = coalescer.add(bytes: 1, at: 1_000)
    #expect(coalescer.add(bytes: 1, at: 1_004))
    coalescer.reset()
    _ = coalescer.add(bytes: 1, at: 1_005)
    #expect(coalescer.deadline == 1_104)
  }

  // MARK: The backlog

  @Test func `while the input lags, more records and bytes may wait, and longer`() {
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

  @Test func `once the input has caught up, waiting records are due as usual`() {
    let coalescer = coalescer(idle: 10, records: 2)
    coalescer.fallBehind()
    for _ in 0..<3 { #expect(!coalescer.add(bytes: 1, at: 1_000)) }
    coalescer.fallBehind(false)
    #expect(coalescer.deadline == 1_010)
    #expect(coalescer.add(bytes: 1, at: 1_000))
  }

  @Test func `backlog limits smaller than the usual ones have no effect`() {
    let coalescer = coalescer(window: 1_000, records: 100)
    coalescer.fallBehind()
    for _ in 0..<10 { #expect(!coalescer.add(bytes: 1, at: 0)) }
    #expect(coalescer.deadline == 1_000)
  }

  @Test func `with a window of 0, the backlog limits have no effect`() {
    let coalescer = coalescer(window: 0, records: 2)
    coalescer.fallBehind()
    _ = coalescer.add(bytes: 1, at: 0)
    #expect(coalescer.isFlushDue(at: 0))
    #expect(coalescer.add(bytes: 1, at: 0))
  }

  @Test func `copies of rejected records have the usual limit while the input lags`() {
    let coalescer = coalescer(records: 2, bytes: 10)
    coalescer.fallBehind()
    #expect(!coalescer.add(bytes: 12, copied: 9, at: 0))
    #expect(coalescer.add(bytes: 1, copied: 10, at: 0))
  }

  /// The limit on waiting bytes: the record that reaches it is flushed at once.
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

  @Test func `after a slow commit, fewer bytes may wait`() {
    let coalescer = slowCoalescer()
    #expect(room(coalescer) == 1_000)
    _ = coalescer.add(bytes: 1_000, at: 0)
    coalescer.publish(in: 251)
    #expect(room(coalescer) == 996)
    _ = coalescer.add(bytes: 996, at: 0)
    coalescer.publish(in: 500)
    #expect(room(coalescer) == 498)
  }

  @Test func `slow commits reduce the bytes to an eighth at least`() {
    let coalescer = slowCoalescer()
    for _ in 0..<5 {
      _ = coalescer.add(bytes: 100, at: 0)
      coalescer.publish(in: 10_000)
    }
    #expect(room(coalescer) == 125)
  }

  @Test func `after commits of half the time, more bytes may wait again, if that many were committed`() {
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
