import Diagnostics
import Glibc
package import Kafka
import OperatingSystem
import Synchronization

/// Holds producers back until the embedded broker's input has been read.
final class InputGate: Sendable {
  /// The sending thread holds the lock, so that requests pass one at a time.
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
  /// reports a failure; the log has the reason.
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

/// The positions up to which the process's workers have read its embedded broker's input.
///
/// That broker drops the oldest records, read or not, so producers are held back while anything is unread.
package final class InputBacklog: Sendable {
  /// For each worker, its partitions and the offset up to which each has been read; nil before the first assignment.
  private let positions = Mutex<[Int: [TopicPartition: Int64]]?>(nil)

  /// Replaces a worker's partitions by a new assignment. Revoked partitions still have to be read: the next assignment
  /// gives them to this worker or another.
  package func assign(_ partitions: [TopicPartition], to worker: Int) {
    positions.withLock { positions in
      var all = positions ?? [:]
      all[worker] = Dictionary(partitions.map { ($0, -1) }) { $1 }
      positions = all
    }
  }

  /// Records that a worker has read up to these offsets.
  package func read(_ offsets: [TopicPartition: Int64], by worker: Int) {
    positions.withLock { positions in
      guard var own = positions?[worker] else { return }
      for (partition, offset) in offsets where own[partition] != nil { own[partition] = offset }
      positions?[worker] = own
    }
  }

  /// A partition with unread records; nil if there is none. Partitions of group members in other processes are unknown,
  /// and count as read.
  ///
  /// - Parameter ends: the end offsets of the partitions.
  func firstUnread(_ ends: [TopicPartition: Int64]) -> TopicPartition? {
    positions.withLock { positions in
      func isRead(_ partition: TopicPartition, _ end: Int64) -> Bool {
        guard let positions else { return end == 0 }
        return positions.values.allSatisfy { $0[partition].map { $0 >= end } ?? true }
      }
      return ends.first { !isRead($0.key, $0.value) }?.key
    }
  }
}

/// The amount that producers may send to the embedded broker before all of it must be read.
struct ProduceCredit: Equatable {
  /// In bytes of requests. The broker keeps 5 MiB of a partition. Half of that is reserved for records that are read
  /// again, and for requests without acknowledgement, whose arrival cannot be observed.
  static let bytes = 1 << 20

  /// The largest request. librdkafka 2.0.2's mock cluster loses a new batch if that batch displaces everything before
  /// it. Two batches of half the capacity never do.
  static let greatestRequestBytes = 5 << 19

  private var used = 0

  /// Whether a request of this size may pass. A request larger than the credit may pass once all others have been read.
  ///
  /// - Returns: false if the input has to be read first.
  mutating func take(_ bytes: Int) -> Bool {
    guard used == 0 || bytes <= Self.bytes - used else { return false }
    used += bytes
    return true
  }

  /// Restores the full credit, once everything sent has been read.
  mutating func renew() { used = 0 }
}

/// The head of a produce request, parsed as far as needed to know whether the broker answers.
enum ProduceHead {
  /// Versions from this one include the transactional id.
  private static let firstTransactional: UInt32 = 3
  /// Versions from this one have another encoding, which the embedded broker does not support.
  private static let firstFlexible: UInt32 = 9

  /// Whether the broker will answer; false if that cannot be determined.
  ///
  /// - Parameter body: the bytes after the correlation id.
  static func wantsAnswer(version: UInt32, _ body: [UInt8]) -> Bool {
    guard version < firstFlexible, var position = end(ofStringAt: 0, body) else { return false }
    if version >= firstTransactional {
      guard let end = end(ofStringAt: position, body) else { return false }
      position = end
    }
    // `acks`: 0, 1 (the leader) or -1 (all replicas).
    guard let acknowledgements = number(at: position, body) else { return false }
    return acknowledgements != 0
  }

  /// The position after a string: its length (-1 for null) and its bytes.
  private static func end(ofStringAt position: Int, _ body: [UInt8]) -> Int? {
    number(at: position, body).map { position + 2 + max(0, Int($0)) }
  }

  private static func number(at position: Int, _ body: [UInt8]) -> Int16? {
    guard position + 2 <= body.count else { return nil }
    return Int16(bitPattern: UInt16(body[position]) << 8 | UInt16(body[position + 1]))
  }
}
