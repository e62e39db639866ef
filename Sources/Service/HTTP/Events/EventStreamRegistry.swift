import Synchronization

/// The open streams of a server.
final class EventStreamRegistry: Sendable {
  private let limit: Int
  private let state = Mutex(State())

  private struct State {
    var streams: [UInt64: EventStream] = [:]
    var nextNumber: UInt64 = 1
    var isStopping = false
  }

  init(limit: Int) {
    self.limit = limit
  }

  /// Creates a stream and adds it.
  ///
  /// - Parameter make: receives the stream's number, which is never 0.
  /// - Returns: nil if the limit is reached, or the server is stopping.
  func add(_ make: (UInt64) -> EventStream) -> EventStream? {
    state.withLock { state in
      guard !state.isStopping, state.streams.count < limit else { return nil }
      let stream = make(state.nextNumber)
      state.streams[state.nextNumber] = stream
      state.nextNumber += 1
      return stream
    }
  }

  func remove(_ stream: EventStream) {
    _ = state.withLock { $0.streams.removeValue(forKey: stream.number) }
  }

  var count: Int {
    state.withLock(\.streams.count)
  }

  func stream(_ number: UInt64) -> EventStream? {
    state.withLock { $0.streams[number] }
  }

  var all: [EventStream] {
    state.withLock { Array($0.streams.values) }
  }

  /// Accepts no more streams.
  ///
  /// - Returns: the open streams.
  func stop() -> [EventStream] {
    state.withLock { state in
      state.isStopping = true
      return Array(state.streams.values)
    }
  }
}
