import Changesets
import Feed
import FeedClient
import FeedWorker
import Kafka
import Service
import Synchronization

/// The one follower of a process that serves feeds over HTTP: what it follows is served, is on standby, and is what
/// restorations continue from.
///
/// ``FollowPlan`` decides what is followed, under a lock that is held briefly.
final class SharedFollower: PartitionFollower {
  /// The partitions to follow, after each change.
  let changes: AsyncStream<Set<Int32>>

  private struct State {
    var plan: FollowPlan
    var wanted: Set<Int32> = []
  }

  private let client: FeedClient
  private let topic: String
  private let log: Log
  private let milliseconds: @Sendable () -> Int64
  private let change: AsyncStream<Set<Int32>>.Continuation
  private let state: Mutex<State>

  /// - Parameters:
  ///   - client: it follows nothing else than what this asks for.
  ///   - standbyBytes: the bound on the state of partitions that no worker has; nil if they are not followed.
  ///   - seed: with which partition the order of standby begins, modulo their number.
  ///   - milliseconds: a clock that never goes back.
  init(
    _ client: FeedClient,
    topic: String,
    standbyBytes: Int?,
    seed: UInt64,
    _ log: Log,
    milliseconds: @escaping @Sendable () -> Int64 = MonotonicClock.milliseconds
  ) {
    self.client = client
    self.topic = topic
    self.log = log
    self.milliseconds = milliseconds
    (changes, change) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    state = Mutex(State(plan: FollowPlan(standbyBytes: standbyBytes, seed: seed)))
    client.watchProgress { [weak self] in self?.note($0) }
  }

  /// What is followed of others' partitions.
  var figures: StandbyFigures { state.withLock { $0.plan.figures } }
  /// The partitions to follow.
  var wanted: Set<Int32> { state.withLock { $0.plan.wanted } }

  private func update<Result: Sendable>(_ body: (inout FollowPlan) -> Result) -> Result {
    state.withLock { state in
      let result = body(&state.plan)
      let wanted = state.plan.wanted
      if wanted != state.wanted {
        state.wanted = wanted
        // In the lock, so that changes are told in their order.
        change.yield(wanted)
      }
      return result
    }
  }

  // MARK: Workers

  /// The workers have other partitions to serve.
  func serve(_ partitions: Set<Int32>) { update { $0.serve(partitions) } }

  func begin(partitions count: Int32) {
    update { [now = milliseconds()] in $0.begin(partitions: count, at: now) }
  }

  func take(_ number: Int32, within ends: Watermarks) -> sending ReadPartition? {
    // Outside of the lock, which its end would wait for.
    let shared = client.share(number)
    let isUsable = update { [now = milliseconds()] in
      $0.take(number, at: shared?.position, within: ends, now: now)
    }
    guard isUsable, let shared else { return nil }
    let replicas = ReplicaPartition(sharing: shared.feeds, isLocked: false)
    return ReadPartition(topic, number, continuing: replicas, from: shared.position)
  }

  func noteRestored(_ changesets: ReadPartition) {
    client.adopt(changesets.number, at: changesets.position, from: changesets.replicas)
  }

  func noteStopped(_ number: Int32) {
    client.forgetAdopted(number)
    update { $0.stop(number) }
  }

  /// What a worker has is followed already.
  func needsState(of number: Int32) -> Bool { false }

  func giveBack(_ number: Int32, _ changesets: sending ReadPartition?) {
    client.forgetAdopted(number)
    update { $0.giveBack(number) }
  }

  // MARK: The client

  /// The client was reset, and follows nothing.
  func reset() { update { $0.reset() } }

  private func note(_ progress: [PartitionProgress]) {
    let news = update { [now = milliseconds()] in $0.note(progress, at: now) }
    for news in news { tell(news) }
  }

  /// A partition's messages name its topic.
  private func tell(_ news: StandbyNews) {
    guard case .damaged(let number, let reason) = news else { return log.write(news) }
    log.write(.damaged(number, reason: "\(topic) [\(number)], \(reason)"))
  }
}
