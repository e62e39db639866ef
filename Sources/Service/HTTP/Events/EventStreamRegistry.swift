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

  /// Makes a stream and keeps it.
  ///
  /// - Parameter make: Given the stream's number, which is never 0.
  /// - Returns: Nil if there are as many as may be, or the server stops.
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

  /// Takes no more streams.
  ///
  /// - Returns: Those that there are.
  func stop() -> [EventStream] {
    state.withLock { state in
      state.isStopping = true
      return Array(state.streams.values)
    }
  }
}
