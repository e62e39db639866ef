import Synchronization

/// The open streams of a server, and the choice of a stream to end when the limit is reached.
final class EventStreamRegistry: Sendable {
  private let limit: Int
  private let state = Mutex(State())

  private struct State {
    var entries: [UInt64: Entry] = [:]
    /// The number of streams by address group, without those that must end.
    var counts = AddressCounts()
    /// The number of streams that must end.
    var endingCount = 0
    var nextNumber: UInt64 = 1
    var isStopping = false
  }

  private struct Entry {
    let stream: EventStream
    /// The client's address group.
    let address: String
    /// Whether it must end in favour of another one.
    var isEnding = false
  }

  /// The maximum number of streams above the limit, which must end.
  private static let reserve = 64

  init(limit: Int) {
    self.limit = limit
  }

  /// Creates a stream and adds it. At the limit, the address with the most streams makes room for one with fewer: its
  /// oldest stream must end. O(n) for n streams then.
  ///
  /// - Parameters:
  ///   - address: the client's address group.
  ///   - make: receives the stream's number, which is never 0.
  /// - Returns: the stream, and the one that the caller must end for it; nil at the limit, or while the server stops.
  func add(
    from address: String,
    _ make: (UInt64) -> EventStream
  ) -> (added: EventStream, evicted: EventStream?)? {
    state.withLock { state in
      guard !state.isStopping else { return nil }
      var evicted: EventStream?
      if state.entries.count - state.endingCount >= limit {
        guard state.endingCount < Self.reserve, let number = Self.oldestOfBusiest(state, for: address),
          let entry = state.entries[number]
        else { return nil }
        evicted = entry.stream
        state.entries[number]?.isEnding = true
        state.endingCount += 1
        state.counts.remove(entry.address)
      }
      let stream = make(state.nextNumber)
      state.entries[state.nextNumber] = Entry(stream: stream, address: address)
      state.counts.add(address)
      state.nextNumber += 1
      return (stream, evicted)
    }
  }

  private static func oldestOfBusiest(_ state: State, for address: String) -> UInt64? {
    state.entries.filter { !$0.value.isEnding && state.counts.mustYield($0.value.address, to: address) }
      .min { (-state.counts[$0.value.address], $0.key) < (-state.counts[$1.value.address], $1.key) }?.key
  }

  func remove(_ stream: EventStream) {
    state.withLock { state in
      guard let entry = state.entries.removeValue(forKey: stream.number) else { return }
      if entry.isEnding { state.endingCount -= 1 } else { state.counts.remove(entry.address) }
    }
  }

  var count: Int {
    state.withLock(\.entries.count)
  }

  func stream(_ number: UInt64) -> EventStream? {
    state.withLock { $0.entries[number]?.stream }
  }

  var all: [EventStream] {
    state.withLock { $0.entries.values.map(\.stream) }
  }

  /// Accepts no more streams.
  ///
  /// - Returns: the open streams.
  func stop() -> [EventStream] {
    state.withLock { state in
      state.isStopping = true
      return state.entries.values.map(\.stream)
    }
  }
}
