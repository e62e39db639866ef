import Feed
import HTTP
import OperatingSystem
import Synchronization

/// The requests that wait for changes of feeds (docs/poll.md). No thread waits; each update of a feed wakes its requests.
///
/// Requests for one address share attempts and the response. The limit on connections bounds their number.
final class ChangePolls: Sendable {
  /// The requests for one address.
  struct Group: Sendable {
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
  private static let stopping = HTTPRefusal.unavailable("stopping", "this instance stops; ask again").response

  var isEmpty: Bool { groups.withLock { $0?.isEmpty != false } }

  /// - Parameter group: is used for the first request for its address.
  func add(_ response: HTTPLaterResponse, to group: Group, of feed: ByteText, at address: String) {
    let isWaiting = groups.withLock { groups in
      groups?[feed, default: [:]][address, default: group].waiting.append(response)
      return groups != nil
    }
    if !isWaiting { return response.give(Self.stopping) }
    // The feed may have changed since the request was tried.
    if group.attempt() != nil { wake(feed) }
  }

  /// Answers the requests that can be answered now.
  ///
  /// - Parameter feed: nil for all.
  func wake(_ feed: ByteText?) { answer(feed) { $0.attempt() } }

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
