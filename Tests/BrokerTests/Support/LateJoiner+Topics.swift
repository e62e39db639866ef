import FeedStore
import Kafka
import ObservationSupport

extension LateJoiner {
  /// Reads the topic up to its end at the start.
  init(_ topics: TestTopics) throws {
    self.init()
    let reader = try TopicReader(topics, [topics.names.changesets])
    defer { reader.close() }
    let ends = try reader.ends()
    let deadline = ContinuousClock.now + .seconds(600)
    while !reader.hasReached(ends) {
      try BrokerFailure.check(ContinuousClock.now < deadline, "the topic could not be read to its end")
      var found: [TopicRecord] = []
      try reader.poll(timeoutMilliseconds: 100) { found.append($0) }
      for record in found { try take(record) }
    }
    try finish()
  }
}
