import FeedStore
import Kafka
import ObservationSupport
import OperatingSystem
import Synchronization

@testable import FeedKafka

/// Follows the output from its beginning on a separate thread, and lets tests wait for conditions.
final class Observer: Sendable {
  private struct Waiter {
    let what: String
    let deadline: ContinuousClock.Instant
    let isMet: @Sendable (Observation) -> Bool
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var observation = Observation()
    var waiters: [Waiter] = []
    var isStopping = false
    /// The error that ends all waits.
    var end: (any Error)?
  }

  private let topics: TestTopics
  private let state = Mutex(State())

  private static let pollMilliseconds: Int32 = 50

  init(_ topics: TestTopics) {
    self.topics = topics
  }

  var observation: Observation { state.withLock { $0.observation } }

  func stop() { state.withLock { $0.isStopping = true } }

  /// Reads until it is stopped.
  func run() async throws {
    let thread = WorkerThread(name: "observer")
    defer { thread.stop() }
    do {
      try await withTaskExecutorPreference(thread) { @concurrent in try follow() }
      end(BrokerFailure("nobody observes any more"))
    } catch {
      end(error)
      throw error
    }
  }

  /// Waits until a condition holds. It is checked after every poll.
  ///
  /// - Throws: ``BrokerFailure`` after the timeout, or when the output is wrong.
  func wait(
    _ what: String,
    seconds: Int = 600,
    until isMet: @escaping @Sendable (Observation) -> Bool
  ) async throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    try await withCheckedThrowingContinuation { continuation in
      let waiter = Waiter(what: what, deadline: deadline, isMet: isMet, continuation: continuation)
      let end = state.withLock { state in
        if state.end == nil { state.waiters.append(waiter) }
        return state.end
      }
      if let end { continuation.resume(throwing: end) }
    }
  }

  /// Waits for the next poll.
  func tick() async throws {
    try await wait("the next poll") { _ in true }
  }

  private func follow() throws {
    let names = topics.names
    let reader = try TopicReader(topics, [names.changesets, names.rejected])
    defer { reader.close() }
    while !state.withLock({ $0.isStopping }) {
      var records: [TopicRecord] = []
      try reader.poll(timeoutMilliseconds: Self.pollMilliseconds) { records.append($0) }
      state.withLock { state in
        for record in records { state.observation.take(record, changesets: names.changesets) }
        state.observation.positions = reader.positions
      }
      wake()
    }
  }

  /// Resumes the tasks whose condition holds. Conditions may take other locks.
  private func wake() {
    let (observation, waiters) = state.withLock { state in
      defer { state.waiters = [] }
      return (state.observation, state.waiters)
    }
    var left: [Waiter] = []
    for waiter in waiters {
      if let violation = observation.violations.first {
        waiter.continuation.resume(throwing: BrokerFailure(violation))
      } else if waiter.isMet(observation) {
        waiter.continuation.resume()
      } else if ContinuousClock.now > waiter.deadline {
        waiter.continuation.resume(throwing: BrokerFailure("timed out waiting for \(waiter.what)"))
      } else {
        left.append(waiter)
      }
    }
    state.withLock { $0.waiters += left }
  }

  private func end(_ error: any Error) {
    let waiters = state.withLock { state in
      state.end = error
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.continuation.resume(throwing: error) }
  }
}

extension InputOracle {
  /// Reads the whole input.
  init(_ topics: TestTopics) throws {
    let records = try TopicReader.contents(topics, topics.names.inputs).records
    let contents = try topics.names.contents.map { try TopicReader.contents(topics, [$0]).records } ?? []
    self.init(records, contents: contents, contentsTopic: topics.names.contents)
  }
}

extension LateJoiner {
  /// Reads the topic up to its end at the start.
  init(_ topics: TestTopics) throws {
    self.init()
    for record in try TopicReader.contents(topics, [topics.names.changesets]).records { try take(record) }
    try finish()
  }
}
