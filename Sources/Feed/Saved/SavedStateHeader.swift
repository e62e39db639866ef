/// What a saved state is of.
package struct SavedStateHeader: Sendable, Equatable {
  /// The changesets topic.
  package var topic: String
  /// The id of the Kafka cluster; nil if it told none.
  package var cluster: String?
  /// The feeds that were followed; nil if all were. Of others nothing is saved, whether they exist or not.
  package var feeds: Set<ByteText>?
  /// When it was saved, in milliseconds since 1970. For people.
  package var timeMilliseconds: Int64

  package init(topic: String, cluster: String?, feeds: Set<ByteText>?, timeMilliseconds: Int64) {
    self.topic = topic
    self.cluster = cluster
    self.feeds = feeds
    self.timeMilliseconds = timeMilliseconds
  }
}
