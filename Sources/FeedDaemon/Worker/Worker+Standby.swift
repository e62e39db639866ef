import FeedKafka
import FeedStore
import Kafka
import Service

/// Goes on from what was followed of partitions before they came, and leaves behind what is known of those that go.
extension Worker {
  /// Has the restoration of a partition go on from what was followed of it.
  ///
  /// - Returns: the offset before which everything was read; nil if nothing was followed.
  func continueFollowed(_ number: Int32, _ ends: Watermarks, _ reader: any RestoredChangesets) -> Int64? {
    guard let partition = environment.standby?.take(number, within: ends) else { return nil }
    let position = partition.position
    reader.adopt(partition, until: ends.high)
    return position
  }

  /// Has a partition read from its beginning if what was followed of it is of no use.
  ///
  /// - Returns: false, and nothing happens, if that is where its reading began.
  func discardFollowed(_ number: Int32, _ error: DaemonError) -> Bool {
    guard restoration.beginAnew(partition: number) else { return false }
    log.write(
      .standbyDiscarded,
      "what was followed on standby is of no use; reading the partition from its beginning",
      ["partition": number, "error": error]
    )
    return true
  }

  /// How many of the partitions that are restored had been followed, for the log; nothing where standby is off.
  func standbyFields(_ numbers: Set<Int32>) -> LogFields {
    guard environment.standby != nil else { return [:] }
    return ["standby": numbers.count(where: restoration.isContinued)]
  }

  /// Has partitions followed that are given up, from where their feeds were published.
  ///
  /// - Parameter isConfirmed: whether nobody else has written to them yet. Nothing of them waits.
  func leaveFollowed(_ numbers: Set<Int32>, isConfirmed: Bool, _ store: isolated FeedStore) throws(KafkaError)
  {
    guard let standby = environment.standby else { return }
    for number in numbers {
      switch restoration.state(of: number) {
      case .done? where isConfirmed:
        guard let end = writer?.ends.end(of: number), let feeds = store.takeOut(partition: number) else {
          standby.giveBack(number, nil)
          continue
        }
        standby.giveBack(
          number,
          ChangesetPartition(options.topics.changesets, number, continuing: feeds, from: end)
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
