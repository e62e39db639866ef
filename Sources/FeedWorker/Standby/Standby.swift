package import Changesets
import Feed
package import FeedKafka
package import Kafka
package import Service
import Synchronization

/// Follows the partitions of the changesets topic that no worker of this process has, so that taking one over needs only what was
/// published last.
///
/// A thread of its own reads them (``run()``), each into the same ``ReadPartition`` that a restoration reads into. A
/// worker that restores a partition takes what was followed, and goes on from there; one that gives a partition up gives its
/// feeds back. Nothing is copied, and nothing is read twice. What changes is a ``StandbyState`` behind one lock, which is held for
/// one record at a time.
package final class Standby: PartitionFollower {
  private let settings: KafkaSettings
  private let topic: String
  private let maxBytes: Int
  /// What the first partition in the order follows from.
  private let seed: UInt64
  private let clients: any WorkerClients
  private let stop: StopRequest
  private let log: Log
  private let state = Mutex(StandbyState())

  private static let readMilliseconds: Int32 = 100
  private static let pauseMilliseconds: Int64 = 5_000
  private static let figuresMilliseconds: Int64 = 1_000

  /// - Parameters:
  ///   - maxBytes: how much state there may be of the partitions that are followed, by the formula of `StateSize`.
  ///   - seed: with which partition the order begins in which partitions get room, modulo their number. It is to be different in
  ///     each process, so that what does not fit in one is followed by another.
  package convenience init(
    _ settings: KafkaSettings,
    topic: String,
    maxBytes: Int,
    seed: UInt64,
    stop: StopRequest,
    _ log: Log
  ) {
    self.init(
      settings,
      topic: topic,
      maxBytes: maxBytes,
      seed: seed,
      clients: KafkaClients(),
      stop: stop,
      log
    )
  }

  init(
    _ settings: KafkaSettings,
    topic: String,
    maxBytes: Int,
    seed: UInt64,
    clients: any WorkerClients,
    stop: StopRequest,
    _ log: Log
  ) {
    self.settings = settings
    self.topic = topic
    self.maxBytes = maxBytes
    self.seed = seed
    self.clients = clients
    self.stop = stop
    self.log = log
  }

  /// What is followed.
  package var figures: StandbyFigures { state.withLock(\.report.figures) }

  private var now: Int64 { clients.milliseconds() }

  // MARK: Workers

  /// A worker has restored what it was assigned first, and knows the topics: what others have is followed from now on.
  ///
  /// - Parameter count: how many partitions are followed, from 0 on.
  package func begin(partitions count: Int32) {
    guard count > 0 else { return }
    state.withLock { $0.begin(StandbyChoice(partitions: count, seed: seed, maxBytes: maxBytes)) }
  }

  /// Hands out what was followed of a partition, which a worker restores; it is not followed until the worker gives it back.
  ///
  /// - Parameter ends: where the partition begins and ends now.
  /// - Returns: nil if nothing is known of it that a restoration can go on from.
  package func take(_ number: Int32, within ends: Watermarks) -> sending ReadPartition? {
    let now = now
    let taken: ReadPartition? = state.withLock { state in
      let partition = state.take(number)
      let isUsable = partition?.isUsable(within: ends, at: now, lastIdle: state.lastIdle)
      state.report.countTakeover(isWarm: isUsable == true)
      // Nobody else has it any more.
      nonisolated(unsafe) let changesets = isUsable == true ? partition?.changesets : nil
      return changesets
    }
    return taken
  }

  /// It does not follow what workers own.
  package func noteRestored(_ changesets: ReadPartition) {}

  package func noteStopped(_ number: Int32) {}

  package func needsState(of number: Int32) -> Bool { true }

  /// A worker has given up a partition.
  ///
  /// - Parameter changesets: what it knows of it; nil if that is not what was published.
  package func giveBack(_ number: Int32, _ changesets: sending ReadPartition?) {
    let now = now
    nonisolated(unsafe) let changesets = changesets
    state.withLock { $0.release(number, changesets, at: now) }
  }

  // MARK: The follower

  /// Follows until the daemon is asked to stop. It blocks its thread.
  package func run() {
    var pauseEnd: Int64 = 0
    var nextFigures: Int64 = 0
    do throws(KafkaError) {
      var reader = try clients.makeFollower(settings, topic: topic, log: log)
      while !stop.isRequested {
        do throws(KafkaError) {
          if now >= pauseEnd { try change(reader) }
          try reader.read(into: self, timeoutMilliseconds: Self.readMilliseconds)
        } catch {
          if error.isFatal { throw error }
          log.write(
            .standbyFollowerFailed,
            "standby follower failed; retrying after a pause",
            ["error": error, "pauseSeconds": Self.pauseMilliseconds / 1_000]
          )
          reader = try clients.makeFollower(settings, topic: topic, log: log)
          state.withLock { $0.closeAll() }
          pauseEnd = now + Self.pauseMilliseconds
        }
        tellExcess()
        guard now >= nextFigures else { continue }
        nextFigures = now + Self.figuresMilliseconds
        if state.withLock({ $0.updateFigures(reader.knownEnd) }) { tellFollowed() }
      }
    } catch {
      if stop.isRequested { return }
      log.write(
        .standbyFollowerFailed,
        "standby follower failed and has ended; no partitions are on standby",
        ["error": error]
      )
    }
  }

  /// Has the client read what is to be followed now.
  private func change(_ reader: any FollowedChangesets) throws(KafkaError) {
    let change = state.withLock { [topic, now] in $0.nextChange(topic, at: now) }
    if change.removed.isEmpty, change.added.isEmpty { return }
    try reader.remove(change.removed)
    try reader.add(change.added)
    state.withLock { $0.apply(change) }
  }

  /// Takes the next record of whatever partition.
  func take(_ record: some ConsumedRecord) {
    switch state.withLock({ $0.take(record) }) {
    case .taken: break
    case .restarted(let position):
      log.write(
        .standbyPartitionRestarted,
        "a partition on standby was truncated or recreated; reading it from its beginning",
        ["partition": record.partition, "offset": record.offset, "position": position]
      )
    case .damaged(let error):
      log.write(.damaged(record.partition, reason: "\(error)"))
    }
  }

  /// A partition was read to its end.
  func noteEnd(of number: Int32, at offset: Int64) {
    state.withLock { [now] in $0.noteEnd(of: number, at: offset, now: now) }
  }

  /// The brokers have nothing more.
  func noteIdle() { state.withLock { [now] in $0.lastIdle = now } }

  private func tellFollowed() {
    let figures = figures
    log.write(.upToDate(followed: figures.followed.count, bytes: figures.bytes))
  }

  /// Gives up what there is no room for, and says so once.
  private func tellExcess() {
    for number in state.withLock({ [now] in $0.giveUpExcess(at: now) }) {
      log.write(.tooLarge(number, limit: maxBytes))
    }
  }
}
