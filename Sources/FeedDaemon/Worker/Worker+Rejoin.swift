import FeedKafka
import FeedStore
import Kafka
import Service

/// Joins the group once more when the share of this worker suggests that a broker had not heard of the topics yet.
///
/// The group's leader asks some broker for the partitions that it shares out. When the topics have just been created, that
/// broker may know none of them, or only one; librdkafka 2.0.2 does not notice, and the input stays with nobody. A
/// worker beyond the number of partitions has no share either, so each joins once more at most.
extension Worker {
  /// By then all brokers have heard of new topics.
  private static let rejoinMilliseconds: Int64 = 5_000

  /// Looks at what was just assigned. A member that has just joined may be given partitions in a second step, when others
  /// have given them up.
  func noteShare() {
    let isDoubtful = assigned.isEmpty && !hasRejoined
    rejoinTime = isDoubtful ? clock.milliseconds() + Self.rejoinMilliseconds : nil
  }

  func rejoinIfDue() throws(KafkaError) {
    guard let time = rejoinTime, clock.milliseconds() >= time, !stop.isRequested else { return }
    rejoinTime = nil
    hasRejoined = true
    log.write(.groupRejoining, "rejoining the group; a broker may not have known all topics")
    // A member that asks for the same topics once more would just stay.
    try consumer.unsubscribe()
    try join()
  }
}
