import Feed
import HTTP
import OperatingSystem
import Synchronization

/// The requests that wait for changes of feeds (docs/poll.md). No thread waits; each update of a feed wakes its requests.
///
/// Requests for one address share one attempt and one response. Connections bound their number.
final class ChangePolls: Sendable {
  /// What the requests for one address wait for.
  struct Group: Sendable {
    /// Returns a response as soon as there is one.
    let attempt: @Sendable () -> HTTPResponse?
    /// The response if there is none in time.
    let empty: HTTPResponse
    /// In milliseconds of `MonotonicClock`.
    let end: Int64
    var polls: [Poll] = []
  }

  struct Poll: Sendable {
    let response: HTTPLaterResponse
    /// The expiry of the client's token, in milliseconds since 1970; nil for never.
    let expires: Int64?
  }

  /// By feed and address; nil once the server stops.
  private let waiting = Mutex<[ByteText: [String: Group]]?>([:])

  var isEmpty: Bool { waiting.withLock { $0?.isEmpty != false } }

  /// Makes a request wait.
  ///
  /// - Parameter group: the group, if the request is the first for its address.
  func add(_ poll: Poll, of feed: ByteText, at address: String, _ group: Group) {
    let isWaiting = waiting.withLock { waiting in
      waiting?[feed, default: [:]][address, default: group].polls.append(poll)
      return waiting != nil
    }
    guard isWaiting else { return poll.response.give(Self.stopping) }
    // The feed may have changed since the request was tried.
    if let response = group.attempt() { give(response, feed, address) }
  }

  /// Answers the requests for a feed that can be answered now.
  func wake(_ feed: ByteText) {
    for (address, group) in waiting.withLock({ $0?[feed] ?? [:] }) {
      if let response = group.attempt() { give(response, feed, address) }
    }
  }

  func wakeAll() { for feed in waiting.withLock({ Array(($0 ?? [:]).keys) }) { wake(feed) } }

  /// Answers requests that have waited long enough, and those whose tokens have expired.
  ///
  /// - Parameters:
  ///   - now: in milliseconds since 1970.
  ///   - time: in milliseconds of `MonotonicClock`.
  func expire(at now: Int64, _ time: Int64 = MonotonicClock.milliseconds()) {
    for (feed, groups) in waiting.withLock({ $0 ?? [:] }) {
      for (address, group) in groups where group.end <= time { give(group.empty, feed, address) }
    }
    let expired = waiting.withLock { waiting in
      var expired: [Poll] = []
      for (feed, groups) in waiting ?? [:] {
        for (address, group) in groups where group.polls.contains(where: { $0.expires ?? .max <= now }) {
          expired += group.polls.filter { $0.expires ?? .max <= now }
          waiting?[feed]?[address]?.polls.removeAll { $0.expires ?? .max <= now }
        }
      }
      return expired
    }
    for poll in expired { poll.response.give(HTTPRefusal.tokenExpired.response) }
  }

  /// Answers all requests, and those that follow at once.
  func stop() {
    let all = waiting.withLock { $0.take() ?? [:] }
    for poll in all.values.flatMap(\.values).flatMap(\.polls) { poll.response.give(Self.stopping) }
  }

  private func give(_ response: HTTPResponse, _ feed: ByteText, _ address: String) {
    let group = waiting.withLock { waiting in
      let group = waiting?[feed]?.removeValue(forKey: address)
      if waiting?[feed]?.isEmpty == true { waiting?[feed] = nil }
      return group
    }
    for poll in group?.polls ?? [] { poll.response.give(response) }
  }

  private static let stopping = HTTPRefusal.unavailable("stopping", "this instance stops; ask again").response
}
