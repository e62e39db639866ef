import Glibc
import Kafka
import Service
import Synchronization

/// Holds producers back until the embedded broker's input has been read.
final class InputGate: Sendable {
  /// Held by the thread that sends, so that requests pass one at a time.
  private let measurer: Mutex<Measurer>
  private let backlog: InputBacklog
  private let isStopped = Atomic<Bool>(false)
  /// Requests that were admitted but not answered yet: their records may not be in the log yet.
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

  /// Whether the broker can keep a produce request of this size. If not, the connection must end, so that the client
  /// sees a failure; the log says why.
  func mayPass(bytes: Int) -> Bool {
    if bytes <= ProduceCredit.greatestRequestBytes { return true }
    // Clients retry many times a second; the log limits the lines.
    log.write(
      .embeddedRequestRefused,
      "the embedded broker refused a request that is too large for it; send smaller records, or use Kafka",
      ["bytes": bytes, "limit": ProduceCredit.greatestRequestBytes]
    )
    return false
  }

  /// Waits until a produce request of this size may pass.
  ///
  /// - Parameter isAnswered: whether ``answer(_:)`` follows.
  /// - Returns: false if the gate has stopped.
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
        // There is no notification of reads; polling is fast enough.
        _ = poll(nil, 0, Self.pauseMilliseconds)
      }
      return false
    }
  }

  /// Records that requests were answered, or will not be.
  func answer(_ count: Int) { unanswered.subtract(count, ordering: .relaxed) }

  /// Stops the gate and releases all waiting requests.
  func stop() {
    isStopped.store(true, ordering: .relaxed)
    // A consumer that cannot be closed in time ends with the process.
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
