import FeedTestSupport
import Service

/// What runs on a cluster differ in.
struct RunOptions: Sendable {
  var partitions: Int32 = 4
  /// Settings of the changesets topic; none for the usual ones, with which nothing is cleaned so soon.
  var compaction: [String: String] = [:]
  /// What the daemons are configured with, besides.
  var settings: [String: String] = [:]
  /// What no daemon may log.
  var forbiddenEvents: [LogEvent] = []
  var generator: GeneratorOptions
  var recordsPerPoll = 10

  init() {
    generator = GeneratorOptions()
    generator.feedCount = 6
    // An offset is the broker's to give.
    generator.repeatedOffsetPercent = 0
  }
}
