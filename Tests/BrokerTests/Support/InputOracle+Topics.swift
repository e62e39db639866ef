import FeedStore
import ObservationSupport

extension InputOracle {
  /// Reads all input there is.
  init(_ topics: TestTopics) throws {
    self.init(try TopicReader.contents(topics, [topics.names.sections, topics.names.items]).records)
  }
}
