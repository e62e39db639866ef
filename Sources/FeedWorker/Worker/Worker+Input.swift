import Feed
import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
import Service

/// Polls for input and applies it.
extension Worker {
  /// Polls for input, to be applied next.
  func takeInput(_ store: isolated FeedStore, timeoutMilliseconds: Int32) throws -> WorkerEvent {
    let rebalance = try poll(timeoutMilliseconds: timeoutMilliseconds)
    let repeated = batch.note(in: &machine.positions)
    environment.backlog?.read(machine.positions.read, by: identity.number)
    noteBacklog(of: store)
    if let repeated {
      mayHaveRestarted = lostInput == .continue
      log.write(.inputRepeated, "input was delivered twice; rereading it", ["partition": repeated])
    } else if !batch.isEmpty {
      onEvent(.received(records: batch.count))
    }
    return .polled(rebalance, isRepeated: repeated != nil)
  }

  private func poll(timeoutMilliseconds: Int32) throws -> Rebalance? {
    try batch.poll(timeoutMilliseconds: timeoutMilliseconds)
    pollSchedule.poll(at: environment.coarseClock())
    try handleEvents(of: batch)
    return batch.rebalance
  }

  /// For the group's sake, and to hear of a rebalance. The input is paused; what comes all the same is read
  /// again from where the reading begins.
  func pollWithoutInput(timeoutMilliseconds: Int32) throws -> WorkerEvent {
    let rebalance = try poll(timeoutMilliseconds: timeoutMilliseconds)
    batch.discard()
    return .polled(rebalance, isRepeated: false)
  }

  /// Applies what was polled, until the group has to be polled again.
  func applySlice(to store: isolated FeedStore) throws -> WorkerEvent.Applied {
    batch.beginSlice(until: pollSchedule.dueTime)
    defer { noteIgnoredFields(of: store) }
    if try store.apply(batch, time: .clock(clock.milliseconds())) == .flushDue { return .untilFlush }
    return batch.isUnfinished ? .slice : .everything
  }

  /// Logs the first of each field that had no effect, and reports how often they occurred.
  private func noteIgnoredFields(of store: isolated FeedStore) {
    let ignored = store.ignoredFields
    let count = ignored.fields.reduce(ignored.otherCount) { $0 + $1.count }
    guard count > ignoredFields.count else { return }
    for field in ignored.fields[ignoredFields.logged...] {
      guard let (partition, position) = field.first else { continue }
      log.write(
        .inputFieldIgnored,
        "an event has a field that its operation does not have; it is ignored",
        [
          "operation": field.name.operation, "field": field.name.field,
          "topic": String(decoding: position.topic, as: UTF8.self), "partition": partition,
          "offset": position.offset,
        ]
      )
    }
    ignoredFields = (ignored.fields.count, count)
    status.update { $0.ignoredFields = ignored.counts }
  }

  /// Has the offsets committed of what ends transactions at the end of the input. Otherwise there would always be
  /// something unread, and when it is deleted like records, it would be missed like records.
  func coverEnds(_ store: isolated FeedStore) {
    for end in batch.ends where machine.positions.reachEnd(end.topicPartition, end.offset) {
      cover(end, store)
    }
  }

  /// Has an offset committed behind which no record was taken.
  func cover(_ position: TopicPartitionOffset, _ store: isolated FeedStore) {
    store.cover(
      topic: Array(position.topic.utf8),
      partition: position.partition,
      upTo: position.offset,
      at: clock.milliseconds()
    )
  }

  /// Looks at what a poll brought besides records.
  func handleEvents(of batch: any PolledInput) throws(DaemonError) {
    for case .error(let error) in batch.events {
      if error.isFatal { throw DaemonError(error) }
      if error.kind == .autoOffsetReset {
        throw explained(lost: error)
      }
      if error.kind == .inconsistentGroupProtocol {
        // It takes this member in when the last of the others has left.
        log.write(
          .groupProtocolMismatch,
          "the group has members of an earlier build, which assign partitions differently; waiting until all of them are stopped",
          ["group": settings.groupID, "error": error]
        )
        continue
      }
      if error.kind.isRefusal { throw .cannot("read", error) }
      if error.isRetriable {
        log.write(.inputRetrying, "transient Kafka error; retrying", ["error": error])
      } else {
        log.write(.inputError, "Kafka error", ["error": error])
      }
    }
  }

  /// What is missing of the input that is read.
  private func explained(lost error: KafkaError) -> DaemonError {
    do throws(DaemonError) {
      for position in machine.positions.resume {
        let input = position.topicPartition
        guard let ends = try? reader().ends(of: input, timeoutMilliseconds: Self.callMilliseconds) else {
          continue
        }
        try InputStart.check(InputStart.finding(input, position.offset, ends), ends, .fail)
      }
    } catch {
      return error
    }
    return DaemonError(
      .lostInput,
      "input is lost while it is read: \(error); start feedstore again to be told exactly what is missing"
    )
  }

  /// Whether a topic ends before what is committed, so that nothing can be read from there.
  func hasRestarted(_ positions: [TopicPartitionOffset]) throws(KafkaError) -> Bool {
    defer { endReading() }
    for position in positions {
      let input = position.topicPartition
      let ends = try reader().ends(of: input, timeoutMilliseconds: Self.callMilliseconds)
      if case .restarted = InputStart.finding(input, position.offset, ends) { return true }
    }
    return false
  }
}
