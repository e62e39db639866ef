import FeedStore
import ObservationSupport

extension InputOracle {
  /// Reads the whole input.
  init(_ topics: TestTopics) throws {
    self.init(try TopicReader.contents(topics, [topics.names.sections, topics.names.items]).records)
  }
}
