package import Changesets
package import Diagnostics
import Feed
package import FeedClient
package import Kafka
import OperatingSystem
import Synchronization

/// The only follower of a process, separate from its workers. Its partitions are on standby, restorations continue from them, and
/// it may serve them over HTTP.
///
/// ``StandbyPlan`` chooses the partitions. If feeds are served, the client continues to follow a partition that a worker takes,
/// and the worker gets a copy. Otherwise the partition moves to the worker, and back when the worker gives it up.
package final class StandbyFollower: PartitionFollower {
  private let subscriptions: Subscriptions
  private let servesFeeds: Bool
  private let log: Log
  private let milliseconds: @Sendable () -> Int64
  /// Follows exactly these partitions from now on.
  private let follow: @Sendable (Set<Int32>) -> Void
  private let plan: Mutex<StandbyPlan>

  /// - Parameters:
  ///   - client: follows only the partitions that `follow` requests.
  ///   - servesFeeds: whether to follow workers' partitions, too.
  ///   - standbyBytes: the limit on the state of partitions without a worker here; nil to follow none.
  ///   - seed: the first partition in the order of standby, modulo their number. It should differ from process to
  ///     process, so that a partition that exceeds the limit of one is followed by another.
  ///   - follow: called after each change, with the partitions to follow; by default, the client follows them.
  package init(
    _ client: FeedClient,
    servesFeeds: Bool,
    standbyBytes: Int?,
    seed: UInt64,
    _ log: Log,
    follow: (@Sendable (Set<Int32>) -> Void)? = nil,
    milliseconds: @escaping @Sendable () -> Int64 = MonotonicClock.milliseconds
  ) {
    subscriptions = client.subscriptions
    self.servesFeeds = servesFeeds
    self.log = log
    self.milliseconds = milliseconds
    self.follow = follow ?? { client.follow(partitions: $0) }
    plan = Mutex(StandbyPlan(servesFeeds: servesFeeds, standbyBytes: standbyBytes, seed: seed))
    client.watchProgress { [weak self] in self?.note($0) }
  }

  package var status: StandbyStatus { plan.withLock { $0.status } }

  private func update<Result: Sendable>(_ body: (inout StandbyPlan) -> Result) -> Result {
    plan.withLock { plan in
      let earlier = plan.wanted
      let result = body(&plan)
      // Under the lock, so that changes arrive in their order.
      if plan.wanted != earlier { follow(plan.wanted) }
      return result
    }
  }

  // MARK: Workers

  /// The partitions of the workers to serve.
  package func serve(_ partitions: Set<Int32>) { update { $0.serve(partitions) } }

  package func begin(partitions count: Int32) {
    update { [now = milliseconds()] in $0.begin(partitions: count, at: now) }
  }

  package func take(_ number: Int32, within ends: Watermarks) -> sending ReadPartition? {
    // Outside of the plan's lock, because this takes long.
    let partition = servesFeeds ? subscriptions.share(number) : subscriptions.takeOut(number)
    let position = partition?.position
    let isUsable = update { [now = milliseconds()] in
      $0.take(number, at: position, within: ends, now: now)
    }
    return isUsable ? partition : nil
  }

  package func noteRestored(_ partition: ReadPartition) {
    if servesFeeds { subscriptions.adopt(copying: partition) }
  }

  package func noteStopped(_ number: Int32) {
    subscriptions.adopt(nil, of: number)
    update { $0.stop(number) }
  }

  /// If feeds are served, workers' partitions are followed anyway.
  package func needsState(of number: Int32) -> Bool { !servesFeeds }

  package func giveBack(_ number: Int32, _ partition: sending ReadPartition?) {
    let bytes = partition?.stateBytes
    subscriptions.adopt(partition, of: number)
    update { [now = milliseconds()] in $0.giveBack(number, bytes: bytes, at: now) }
  }

  // MARK: The client

  /// The client was reset, and has no partitions.
  package func reset() { update { $0.reset() } }

  /// The client's progress.
  func note(_ progress: [PartitionProgress]) {
    for news in update({ [now = milliseconds()] in $0.note(progress, at: now) }) { log.write(news) }
  }
}

extension FeedClient {
  /// Runs until the task is cancelled, and runs again after each failure, with pauses that grow from 1 to 60 seconds.
  ///
  /// - Parameters:
  ///   - body: runs during each run, and ends with it.
  ///   - pause: throws if the task is cancelled.
  ///   - onFailure: called with the error and the seconds until the next run, after the client has discarded its feeds.
  package func keepRunning(
    beside body: @escaping @Sendable () async -> Void = {},
    pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    onFailure: @Sendable (FeedClientError, _ seconds: Int64) -> Void
  ) async {
    var pauses = FollowPause()
    while true {
      let start = MonotonicClock.milliseconds()
      async let ended: Void = body()
      var failure: FeedClientError?
      do throws(FeedClientError) { try await run() } catch { failure = error }
      await ended
      guard let failure else { return }
      let seconds = pauses.seconds(afterFollowing: MonotonicClock.milliseconds() - start)
      reset()
      onFailure(failure, seconds)
      do { try await pause(.seconds(seconds)) } catch { return }
    }
  }
}

/// A log entry about partitions on standby.
enum StandbyNews: Equatable {
  case tooLarge(Int32, limit: Int)
  case damaged(Int32, reason: String)
  case restarted(Int32, position: Int64)
  case upToDate(followed: Int, bytes: Int)
}

extension Log {
  func write(_ news: StandbyNews) {
    switch news {
    case .tooLarge(let number, let limit):
      write(
        .standbyPartitionTooLarge,
        "a partition exceeds standby.maxBytes and is not followed",
        ["partition": number, "limit": LogFigure.bytes(limit)]
      )
    case .damaged(let number, let reason):
      write(
        .standbyPartitionDamaged,
        "a partition on standby cannot be read and is no longer followed",
        ["partition": number, "error": reason]
      )
    case .restarted(let number, let position):
      write(
        .standbyPartitionRestarted,
        "a partition on standby was truncated or recreated; reading it from its beginning",
        ["partition": number, "position": position]
      )
    case .upToDate(let count, let bytes):
      write(
        .standbyReady,
        "standby is up to date",
        ["followed": count, "state": LogFigure.bytes(bytes)]
      )
    }
  }
}

/// The pause before following is restarted: an exponential backoff that starts over after a long success.
struct FollowPause {
  private static let seconds = ExponentialBackoff<Int64>(from: 1, to: 60)

  private var failuresInARow = 0

  /// The pause after a failure.
  ///
  /// - Parameter milliseconds: how long following worked before the failure. If that is longer than the maximum
  ///   pause, the backoff starts over.
  mutating func seconds(afterFollowing milliseconds: Int64) -> Int64 {
    if milliseconds > Self.seconds.greatest * 1_000 { failuresInARow = 0 }
    defer { failuresInARow += 1 }
    return Self.seconds[failuresInARow]
  }
}
