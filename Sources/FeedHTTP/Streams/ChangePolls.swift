import Feed
import HTTP
import OperatingSystem
import Synchronization

/// The requests that wait for changes of feeds (docs/poll.md). No thread waits. Each update of a feed wakes its requests, which are
/// answered elsewhere, because that may encode windows.
///
/// Requests for one address share attempts and the response. The limit on connections bounds their number.
final class ChangePolls: Sendable {
  /// The requests for one address.
  struct Group: Sendable {
    var isWindow = false
    /// Returns the response, once there is one.
    let attempt: @Sendable () -> HTTPResponse?
    /// The response if there is none in time.
    let otherwise: HTTPResponse
    /// In milliseconds of `MonotonicClock`.
    let end: Int64
    var waiting: [HTTPLaterResponse] = []
  }

  /// By feed and address; nil once the server stops.
  private let groups = Mutex<[ByteText: [String: Group]]?>([:])
  /// The feeds that have changed since their requests were tried.
  private let changed = Mutex<Set<ByteText>>([])
  private let signal = FeedStreams.Signal()
  private static let stopping = HTTPRefusal.unavailable("stopping", "this instance stops; ask again").response

  var isEmpty: Bool { groups.withLock { $0?.isEmpty != false } }

  /// The number of addresses of windows.
  var windowCount: Int {
    groups.withLock { ($0 ?? [:]).values.reduce(0) { $0 + $1.values.count(where: \.isWindow) } }
  }

  /// - Parameter group: is used for the first request for its address.
  func add(_ response: HTTPLaterResponse, to group: Group, of feed: ByteText, at address: String) {
    let isWaiting = groups.withLock { groups in
      groups?[feed, default: [:]][address, default: group].waiting.append(response)
      return groups != nil
    }
    if !isWaiting { return response.give(Self.stopping) }
    // The feed may have changed since the request was tried.
    guard let early = group.attempt() else { return }
    groups.withLock { groups in
      groups?[feed]?[address]?.waiting.removeAll { $0 === response }
      if groups?[feed]?[address]?.waiting.isEmpty == true { groups?[feed]?[address] = nil }
      if groups?[feed]?.isEmpty == true { groups?[feed] = nil }
    }
    response.give(early)
  }

  /// Has the requests for a feed tried again.
  ///
  /// - Parameter feed: nil for all.
  func wake(_ feed: ByteText?) {
    let feeds = groups.withLock { groups in
      feed.map { groups?[$0] == nil ? [] : [$0] } ?? Array((groups ?? [:]).keys)
    }
    changed.withLock { $0.formUnion(feeds) }
    if !feeds.isEmpty { signal.yield() }
  }

  /// Answers requests until the task is cancelled. Encoding windows blocks the thread.
  func keepAnswering() async {
    for await _ in signal.all { answer() }
  }

  /// Answers the requests of changed feeds that can be answered now.
  func answer() {
    while let feed = changed.withLock({ $0.popFirst() }) { answer(feed) { $0.attempt() } }
  }

  /// Answers the requests that have waited long enough.
  func expire(at now: Int64 = MonotonicClock.milliseconds()) {
    answer(nil) { $0.end <= now ? $0.otherwise : nil }
  }

  /// Answers all requests, and later ones at once.
  func stop() {
    let all = groups.withLock { $0.take() ?? [:] }
    for waiting in all.values.flatMap(\.values).flatMap(\.waiting) { waiting.give(Self.stopping) }
  }

  private func answer(_ feed: ByteText?, _ respond: (Group) -> HTTPResponse?) {
    for feed in feed.map({ [$0] }) ?? groups.withLock({ Array(($0 ?? [:]).keys) }) {
      for (address, group) in groups.withLock({ $0?[feed] ?? [:] }) {
        guard let response = respond(group) else { continue }
        let answered = groups.withLock { groups in
          let group = groups?[feed]?.removeValue(forKey: address)
          if groups?[feed]?.isEmpty == true { groups?[feed] = nil }
          return group?.waiting ?? []
        }
        for waiting in answered { waiting.give(response) }
      }
    }
  }
}
