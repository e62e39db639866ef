extension KafkaConfiguration {
  /// Adds the properties that a consumer needs, and better defaults.
  ///
  /// - Throws: `_INVALID_ARG` with a property that the user has set to an unusable value.
  func completedForConsumer(isolationLevel: IsolationLevel?) throws(KafkaError) -> KafkaConfiguration {
    var configuration = self
    // librdkafka requires a group name. The consumer neither joins this group nor commits to it.
    configuration.setDefault("group.id", "no-group")
    configuration.setDefault("socket.nagle.disable", "true")
    try configuration.require(
      "partition.assignment.strategy",
      "cooperative-sticky",
      because: "only what moves is taken from a member"
    )
    let reason = "offsets are committed together with their results"
    try configuration.require("enable.auto.commit", "false", because: reason)
    try configuration.require("enable.auto.offset.store", "false", because: reason)
    try configuration.require(
      "enable.partition.eof",
      "true",
      because: "FeedStore waits for the ends of partitions"
    )
    if let isolationLevel {
      configuration["isolation.level"] = isolationLevel.rawValue
    }
    return configuration
  }
}
