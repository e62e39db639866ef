import Feed
public import FeedStore
import Kafka

/// What FeedStore needs of its topics; decided without Kafka.
public struct TopicRequirements: Sendable, Equatable {
  let topics: TopicNames
  /// What `max.message.bytes` of the changesets topic must at least be.
  let changesetBytes: Int64
  /// How many bytes a producer puts into one batch at most.
  let batchBytes: Int64

  /// What a record has besides its value, at most: its key, headers and framing. A feed's id (255 bytes) is
  /// in the key and three headers, a topic's name (249 bytes) in one.
  static let recordOverhead: Int64 = 4_096
  /// A rejected record has a message as well, which repeats a bounded piece of the input.
  static let rejectedOverhead: Int64 = 16_384
  /// What the changesets topic has where nothing speaks against it: the share of a log that may be outdated
  /// before it is compacted, and the time after which the newest part of it can be.
  static let dirtyRatio = 0.1
  static let segmentMilliseconds: Int64 = 3_600_000
  /// The shortest time for which deletions should be kept: longer than any reader takes from the beginning to the end.
  static let deletionMilliseconds: Int64 = 3_600_000
  /// The shortest time for which input should be kept: a long weekend.
  static let retentionMilliseconds: Int64 = 259_200_000

  /// - Parameters:
  ///   - options: names and sizes.
  ///   - batchBytes: the producer's `batch.size`. Brokers measure batches, not records, so a topic has to
  ///     take a batch of many small records as well as one record that is as large as records get.
  public init(_ options: FeedStoreOptions, batchBytes: Int) {
    topics = options.topics
    self.batchBytes = Int64(batchBytes)
    let overhead = Self.recordOverhead + Int64(options.output.source.utf8.count)
    changesetBytes = max(Int64(options.output.maxMessageBytes) + overhead, Int64(batchBytes))
  }

  /// What the topics are for; the inputs may be one topic.
  public var roles: [(topic: String, role: TopicRole)] {
    topics.inputs.map { ($0, .input) } + [(topics.changesets, .changesets), (topics.rejected, .rejected)]
  }

  /// What `max.message.bytes` of the rejected topic should at least be, nil if the inputs' is not known.
  func rejectedBytes(_ states: [String: TopicState]) -> Int64? {
    let inputs = topics.inputs.compactMap { states[$0]?.integer("max.message.bytes") }
    return inputs.max().map { max($0 + Self.rejectedOverhead, batchBytes) }
  }
}
