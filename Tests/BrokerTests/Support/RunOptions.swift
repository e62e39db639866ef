import FeedTestSupport
import Service

/// The options of a run on a cluster.
struct RunOptions: Sendable {
  var partitions: Int32 = 4
  /// Settings of the changesets topic; none for the defaults, with which nothing is compacted during a run.
  var compaction: [String: String] = [:]
  /// Additional settings of the daemons.
  var settings: [String: String] = [:]
  /// What no daemon may log.
  var forbiddenEvents: [LogEvent] = []
  var generator: GeneratorOptions
  var recordsPerPoll = 10

  init() {
    generator = GeneratorOptions()
    generator.feedCount = 6
    // The broker assigns offsets.
    generator.repeatedOffsetPercent = 0
  }
}
