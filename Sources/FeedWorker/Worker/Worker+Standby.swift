import FeedKafka
import FeedStore
import Kafka
import Service

/// Hands partitions over between the worker and the standby.
extension Worker {
  /// Continues the restoration of a partition from its standby data.
  ///
  /// - Returns: the offset before which everything was read; nil if there is no usable data.
  func continueFollowed(_ number: Int32, _ ends: Watermarks, _ reader: any RestoredChangesets) -> Int64? {
    guard restoration.mayContinue(number), let partition = environment.standby?.take(number, within: ends)
    else { return nil }
    let position = partition.position
    reader.adopt(partition, until: ends.high)
    return position
  }

  /// Lets others have what was read of a partition, before it becomes the store's; what was followed they have.
  func shareRestored(_ partition: ChangesetPartition) {
    if !restoration.isContinued(partition.number) { environment.standby?.noteRestored(partition) }
  }

  /// Restores a partition from its beginning if its standby data turned out to be unusable.
  ///
  /// - Returns: false, and nothing happens, if the restoration started from the beginning anyway.
  func discardFollowed(_ number: Int32, _ error: DaemonError) -> Bool {
    guard restoration.beginAnew(partition: number) else { return false }
    log.write(
      .standbyDiscarded,
      "standby data is unusable; restoring the partition from its beginning",
      ["partition": number, "error": error]
    )
    return true
  }

  /// The number of restored partitions that had been followed, for the log; empty if none are followed.
  func standbyFields(_ numbers: Set<Int32>) -> LogFields {
    guard environment.standby != nil else { return [:] }
    return ["standby": numbers.count(where: restoration.isContinued)]
  }

  /// Hands revoked partitions over to the standby, from the offset up to which their feeds are published.
  ///
  /// - Parameter isConfirmed: whether no other member can have written to them yet. Nothing of them may be pending.
  func leaveFollowed(_ numbers: Set<Int32>, isConfirmed: Bool, _ store: isolated FeedStore) throws(KafkaError)
  {
    guard let standby = environment.standby else { return }
    for number in numbers {
      guard standby.needsState(of: number) else {
        standby.giveBack(number, nil)
        continue
      }
      switch restoration.state(of: number) {
      case .done? where isConfirmed:
        guard let end = publisher.end(of: number), let feeds = store.takeOut(partition: number) else {
          standby.giveBack(number, nil)
          continue
        }
        standby.giveBack(
          number,
          ChangesetPartition(options.topics.changesets, number, continuing: feeds.replicas, from: end)
        )
      case .reading? where takingOver?.number != number:
        standby.giveBack(number, try closeReading(number))
      default:
        standby.giveBack(number, nil)
      }
    }
  }

  /// What a restoration has read of a partition so far.
  private func closeReading(_ number: Int32) throws(KafkaError) -> sending ChangesetPartition? {
    // The reader keeps nothing of it.
    nonisolated(unsafe) let partition = try changesets?.close(number)
    return partition
  }
}
