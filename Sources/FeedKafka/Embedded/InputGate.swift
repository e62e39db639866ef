import Glibc
import Kafka
import Service
import Synchronization

/// Holds producers back until the input of the embedded broker is read.
final class InputGate: Sendable {
  /// Whoever has it sends: one request at a time.
  private let measurer: Mutex<Measurer>
  private let backlog: InputBacklog
  private let isStopped = Atomic<Bool>(false)
  /// Requests that were let through and are not answered: what they write may not be in the log yet.
  private let unanswered = Atomic<Int>(0)
  private let log: Log

  private struct Measurer {
    var credit = ProduceCredit()
    /// Used by one thread at a time, under the lock.
    nonisolated(unsafe) let consumer: Consumer
    let inputs: [TopicPartition]
  }

  private static let pauseMilliseconds: Int32 = 2
  private static let askMilliseconds: Int32 = 1_000
  private static let patienceMilliseconds: Int64 = 10_000

  init(
    _ cluster: KafkaConfiguration,
    inputs: [TopicPartition],
    backlog: InputBacklog,
    log: Log
  ) throws(KafkaError) {
    let consumer = try Consumer(configuration: cluster, log: log.kafkaHandler)
    measurer = Mutex(Measurer(consumer: consumer, inputs: inputs))
    self.backlog = backlog
    self.log = log
  }

  /// Whether a request to write of so many bytes can be kept; if not, the connection has to end, so that the client hears
  /// of it, and the log says why.
  func mayPass(bytes: Int) -> Bool {
    if bytes <= ProduceCredit.greatestRequestBytes { return true }
    // Clients try again, many times a second.
    log.write(
      .embeddedRequestRefused,
      "the embedded broker refused a request that is too large for it; send smaller records, or use Kafka",
      ["bytes": bytes, "limit": ProduceCredit.greatestRequestBytes]
    )
    return false
  }

  /// Waits until a request to write of so many bytes may go on.
  ///
  /// - Parameter isAnswered: whether ``answer(_:)`` follows.
  /// - Returns: false if the gate was stopped.
  func admit(bytes: Int, isAnswered: Bool) -> Bool {
    measurer.withLock { measurer -> Bool in
      var nextWarning = MonotonicClock.milliseconds() + Self.patienceMilliseconds
      while !isStopped.load(ordering: .relaxed) {
        if measurer.credit.take(bytes) {
          if isAnswered { unanswered.add(1, ordering: .relaxed) }
          return true
        }
        let isArriving = unanswered.load(ordering: .relaxed) > 0
        let unread = isArriving ? nil : unread(measurer)
        if !isArriving, unread == nil {
          measurer.credit.renew()
          continue
        }
        let now = MonotonicClock.milliseconds()
        if now >= nextWarning {
          nextWarning = now + Self.patienceMilliseconds
          log.write(
            .embeddedProducersHeld,
            "the embedded broker is holding producers back until its input is read",
            unread.map { ["partition": $0] } ?? [:]
          )
        }
        // Nobody tells when something is read; so soon is soon enough.
        _ = poll(nil, 0, Self.pauseMilliseconds)
      }
      return false
    }
  }

  /// So many requests are answered, or will not be.
  func answer(_ count: Int) { unanswered.subtract(count, ordering: .relaxed) }

  /// Lets nobody wait any longer.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
    // What is not torn down in time goes with the process.
    measurer.withLock { measurer in
      _ = try? measurer.consumer.close(timeoutMilliseconds: Self.askMilliseconds)
    }
  }

  private func unread(_ measurer: Measurer) -> TopicPartition? {
    var ends: [TopicPartition: Int64] = [:]
    for input in measurer.inputs {
      do throws(KafkaError) {
        ends[input] = try measurer.consumer.queryWatermarks(input, timeoutMilliseconds: Self.askMilliseconds)
          .high
      } catch {
        return input
      }
    }
    return backlog.firstUnread(ends)
  }
}
