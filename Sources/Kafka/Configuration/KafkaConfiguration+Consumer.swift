extension KafkaConfiguration {
  /// Adds what a consumer depends on, and what it is better off with.
  ///
  /// - Throws: `_INVALID_ARG` naming a property that the user has set to something a consumer cannot work
  ///   with.
  func completedForConsumer(isolationLevel: IsolationLevel?) throws(KafkaError) -> KafkaConfiguration {
    var configuration = self
    // librdkafka has no consumer without a group's name. This one is never joined nor committed to.
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
