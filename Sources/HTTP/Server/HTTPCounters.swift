import Synchronization

/// The counters of an ``HTTPServer`` since its start, and its current state.
package struct HTTPCounters: Sendable, Equatable {
  /// Requests by response status. Malformed requests that libmicrohttpd rejects itself are not counted.
  package var requestsByStatus: [Int: Int] = [:]
  package var openConnections = 0
  package var openStreams = 0
  /// The number of followed feeds, counted for each stream, and of their distinct windows.
  package var streamedFeeds = 0
  package var windows = 0
  package var streams = 0
  package var queuedBytes = 0
  /// Messages queued on streams, counted once for each stream.
  package var queuedEvents = 0
  /// Messages that a full stream rejected.
  package var refusedEvents = 0
  /// Bytes of content passed on for sending, without heads. Clients may have disconnected before they received them.
  package var contentBytes = 0
  /// Nil if no keys of tokens are fetched.
  package var tokenKeys: FetchedTokenKeys.Status?

  package init() {}
}

/// Counters that many threads update.
final class HTTPCounterStore: Sendable {
  // Atomic instead of under the lock, because it is updated for each message and stream.
  private let queuedEvents = Atomic(0)
  private let refusedEvents = Atomic(0)
  private let contentBytes = Atomic(0)
  private let streams = Atomic(0)
  private let requestsByStatus = Mutex<[Int: Int]>([:])

  func countAnswer(status: Int) {
    requestsByStatus.withLock { $0[status, default: 0] += 1 }
  }

  func countStream() {
    streams.add(1, ordering: .relaxed)
  }

  func countBytes(_ count: Int) {
    contentBytes.add(count, ordering: .relaxed)
  }

  /// Counts messages that were written together.
  func count(_ count: Int, _ result: EventStreamWrite) {
    switch result {
    case .queued: queuedEvents.add(count, ordering: .relaxed)
    case .full: refusedEvents.add(count, ordering: .relaxed)
    case .closed: break
    }
  }

  func read() -> HTTPCounters {
    var counters = HTTPCounters()
    counters.requestsByStatus = requestsByStatus.withLock { $0 }
    counters.queuedEvents = queuedEvents.load(ordering: .relaxed)
    counters.refusedEvents = refusedEvents.load(ordering: .relaxed)
    counters.contentBytes = contentBytes.load(ordering: .relaxed)
    counters.streams = streams.load(ordering: .relaxed)
    return counters
  }
}
