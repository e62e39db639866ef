import Kafka

/// What partitions are followed with that no worker has; see ``StandbyReader``.
protocol FollowedChangesets: AnyObject {
  /// Follows these partitions from these offsets, besides those that are followed.
  func add(_ positions: [Int32: Int64]) throws(KafkaError)
  /// Follows these partitions no more.
  func remove(_ partitions: Set<Int32>) throws(KafkaError)
  /// Passes on what there is, of whatever partition, waiting for it if need be.
  ///
  /// - Throws: what does not pass by itself; everything that came was passed on.
  func read(into standby: Standby, timeoutMilliseconds: Int32) throws(KafkaError)
  /// The end of a partition that is followed, as a broker told it last; nil before that.
  func knownEnd(of partition: Int32) -> Int64?
}
