import Kafka

/// What feeds are restored from; see ``ChangesetReader``.
protocol RestoredChangesets: AnyObject {
  var topic: String { get }

  /// Where a partition of any topic begins and ends, whatever becomes of open transactions.
  func ends(of partition: TopicPartition, timeoutMilliseconds: Int32) throws(KafkaError) -> Watermarks
  /// Takes over what was followed of a partition, of which what follows has to be read up to an end. If there is something
  /// left, ``open(_:)`` comes next.
  func adopt(_ partition: ChangesetPartition, until end: Int64)
  /// Begins with these partitions, besides those that are read.
  func open(_ added: [RestoredPartition]) throws(KafkaError)
  /// Stops reading partitions, wherever they are, and forgets what was read of them; passes over others.
  func drop(_ numbers: Set<Int32>) throws(KafkaError)
  /// Reads what there is, of whatever partition, waiting for it if need be.
  ///
  /// - Parameter goesOn: asked after each record whether there is time for another; the others come with the next
  ///   reading.
  /// - Throws: if the client is closed.
  func read(timeoutMilliseconds: Int32, while goesOn: () -> Bool) throws(KafkaError) -> RestoredPortion
  /// Hands out a partition that was read to its end, and stops reading it; nil if it was empty and not opened.
  func close(_ partition: Int32) throws(KafkaError) -> ChangesetPartition?
}
