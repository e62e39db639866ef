import Changesets
public import Feed
public import Kafka
import OperatingSystem
import Synchronization

/// Follows a changesets topic: keeps a copy of every feed, and delivers each change as it arrives.
///
/// ```swift
/// let client = FeedClient(FeedClientOptions(kafka: ["bootstrap.servers": "localhost:9092"])) { print($2) }
/// async let running: Void = client.run()
/// for try await update in client.updates(of: ["news"]) {
///   switch update {
///   case .present(let content, _): show(content.snapshot)
///   case .changed(let changeset, let snapshot): apply(changeset, snapshot)
///   case .mustRefetch, .absent: …
///   }
/// }
/// ```
///
/// The client reads committed records only, from the beginning of the topic. That yields the current state of every feed;
/// after that, the client delivers changes. While ``run()`` runs, reading blocks a separate thread, and never a thread of the
/// cooperative pool. All other methods may be called from anywhere, before, during and after the run.
///
/// **Memory** consists of the followed feeds, the records that librdkafka has prefetched (`queued.max.messages.kbytes`,
/// 64 MiB by default), and the queues of the subscriptions (``SubscriptionOptions``).
public final class FeedClient: Sendable {
  private let options: FeedClientOptions
  private let log: KafkaLogHandler
  package let subscriptions: Subscriptions
  private let wasRun = Atomic(false)
  private let onProgress = Mutex<(@Sendable ([PartitionProgress]) -> Void)?>(nil)

  private static let closeMilliseconds: Int32 = 5_000

  /// Creates a client. It does nothing until ``run()`` is called.
  ///
  /// - Parameter log: receives the log lines of the client and of librdkafka, on librdkafka's threads.
  public init(_ options: FeedClientOptions, log: @escaping KafkaLogHandler) {
    self.options = options
    self.log = log
    subscriptions = Subscriptions(
      topic: options.topic,
      partitions: options.partitions,
      keeping: options.feeds.map { Set($0.map { ByteText($0) }) }
    )
  }

  /// Follows the topic until ``stop()`` is called, the task is cancelled, or an error occurs. Call it once, and
  /// again after each ``reset()``.
  ///
  /// Subscriptions end with the run: after their pending updates, or with the same error.
  ///
  /// - Throws: ``FeedClientError``. Unreachable brokers are not an error; the client waits for them.
  public func run() async throws(FeedClientError) {
    let isFirst = !wasRun.exchange(true, ordering: .relaxed)
    precondition(isFirst, "a client can run only once, unless it is reset")
    let end = await withTaskCancellationHandler {
      await follow()
    } onCancel: {
      stop()
    }
    subscriptions.finish(end)
    if case .failed(let error) = end { throw error }
  }

  private func follow() async -> Subscriptions.End {
    let thread = WorkerThread(name: "feed client")
    // This only joins the thread, which has no work left.
    defer { thread.stop() }
    let onProgress = onProgress.withLock { $0 }
    return await withTaskExecutorPreference(thread) { @concurrent [options, subscriptions, log] in
      do {
        var configuration = options.kafka
        configuration["auto.offset.reset"] = "earliest"
        let consumer = try Consumer(configuration: configuration, isolationLevel: .readCommitted, log: log)
        defer { try? consumer.close(timeoutMilliseconds: Self.closeMilliseconds) }
        let follower = ChangesetFollower(
          consumer,
          subscriptions,
          topicTimeout: options.topicTimeout,
          log: log,
          onProgress: onProgress
        )
        while true {
          switch try follower.step() {
          case .done: break
          case .isFull: await subscriptions.waitForRoom()
          case .stopped: return .stopped
          }
        }
      } catch let error as FeedClientError {
        return .failed(error)
      } catch let error as KafkaError {
        return .failed(FeedClientError(error))
      } catch {
        preconditionFailure("the follower threw an error of another kind: \(error)")
      }
    }
  }

  /// Discards all feeds, so that a client that has ended can be run again. It reads the most recently requested
  /// partitions as on its first run. Call it after ``run()`` has returned.
  ///
  /// Pending updates of subscriptions are discarded, too. Subscriptions that have not ended yet end as the run did.
  public func reset() {
    subscriptions.reset()
    wasRun.store(false, ordering: .relaxed)
  }

  /// Asks the client to stop. It stops within a few tenths of a second if the brokers can be reached.
  public func stop() { subscriptions.ask(.stop) }

  /// Follows exactly these partitions from now on, or all if nil. Partitions that were already followed continue, and
  /// new ones are read from their beginning. For feeds of the other partitions, subscribers receive `absent`.
  ///
  /// The client fails if the topic has no such partition.
  public func follow(partitions: Set<Int32>?) { subscriptions.ask(.follow(partitions)) }

  /// Calls the body on the reading thread, at most every 20 ms while records arrive and every 100 ms otherwise. It must be quick.
  /// Takes effect with the next ``run()``.
  package func watchProgress(_ body: @escaping @Sendable ([PartitionProgress]) -> Void) {
    onProgress.withLock { $0 = body }
  }

  // MARK: Subscribing

  /// Updates of some feeds, or of all if nil: first the state of each known feed, once its partition has been read to
  /// the end, then its changes. A requested feed that does not exist is delivered as `absent`, and followed once it is
  /// created.
  ///
  /// Each call creates a separate subscription, which starts with this call.
  public func updates(
    of feeds: [String]? = nil,
    _ options: SubscriptionOptions = SubscriptionOptions()
  ) -> FeedUpdates {
    FeedUpdates(subscription: FeedSubscription(subscriptions, feeds: feeds, options))
  }

  // MARK: Windows

  /// Updates of a window of some feeds: first the state of each, then the changes in the window. Snapshots and changesets are
  /// the window's; the descriptions are the feeds'. When a feed is reloaded, its state is delivered again (`present`). A
  /// subscription with a window does not begin with the history.
  public func updates(
    of feeds: [String],
    window: FeedWindow,
    _ options: SubscriptionOptions = SubscriptionOptions()
  ) -> FeedUpdates {
    var options = options
    options.window = window
    options.beginsWithHistory = false
    return FeedUpdates(subscription: FeedSubscription(subscriptions, feeds: feeds, options))
  }

  // MARK: Standing

  /// How far behind the client is, over all partitions.
  public var standing: FeedStanding { subscriptions.standing }

  /// How far behind the client is, now and after each change, until the client ends. Only the newest value is kept for
  /// a slow reader.
  public func standings() -> AsyncStream<FeedStanding> { subscriptions.standings() }

  /// Waits until all records reported by the brokers have been read.
  ///
  /// - Returns: false if the client ended, or the task was cancelled, before that.
  public func waitUntilUpToDate() async -> Bool {
    for await standing in standings() where standing == .upToDate { return true }
    return false
  }

  // MARK: Reading

  /// The followed partitions, sorted by number.
  public var partitions: [PartitionDescription] { subscriptions.partitions }

  /// The partitions that have a feed, lowest first. If there are several, each has a separate feed: producers choose
  /// the partition of its id by different rules, which is a mistake. The client logs it once.
  public func partitions(of feed: String) -> [Int32] { subscriptions.partitions(of: ByteText(feed)) }

  /// The description of a feed; nil if the feed is unknown, or not yet known. O(1) in its size.
  ///
  /// - Parameter partition: by default the lowest that has the feed.
  public func description(of feed: String, in partition: Int32? = nil) -> FeedDescription? {
    subscriptions.description(of: FeedAddress(partition, ByteText(feed)))
  }

  /// All known feeds, sorted by partition and then by the bytes of their ids. Reading pauses while one partition is
  /// listed, in O(n log n) for its n feeds.
  public func feeds() -> [FeedDescription] { subscriptions.collect { $0.descriptions } }

  /// All known feeds with their contents, in the same order and at the same cost. The snapshots share the replicas'
  /// storage: a feed that changes while its snapshot is held is copied once.
  public func contents() -> [FeedContent] { subscriptions.collect { $0.contents } }

  /// The feeds without a known state, because their records lack a reload or are malformed: updates of the kind
  /// `mustRefetch`, sorted by partition and then by the bytes of the feeds' ids.
  public func feedsWithoutContent() -> [FeedUpdate] { subscriptions.collect { $0.lossesWithoutContent } }

  /// The current content of a feed; nil if the feed is unknown, or not yet known. O(1) in its size.
  ///
  /// - Parameter partition: by default the lowest that has the feed.
  public func content(of feed: String, in partition: Int32? = nil) -> FeedContent? {
    subscriptions.content(of: FeedAddress(partition, ByteText(feed)))
  }
}

/// The feeds that a client follows, and its settings.
public struct FeedClientOptions: Sendable {
  /// Properties of librdkafka, such as `bootstrap.servers`. The client sets isolation, offset storage and
  /// end-of-partition events itself.
  public var kafka: KafkaConfiguration
  /// The changesets topic.
  public var topic: String
  /// The partitions to follow at first; nil for all partitions of the topic.
  public var partitions: Set<Int32>?
  /// The ids of the feeds to follow; nil for all. Ids are compared by their bytes. Records of other feeds are skipped
  /// without decoding, and their subscribers receive `absent`.
  public var feeds: [String]?
  /// The maximum wait for a topic that the brokers do not know yet, such as a new one; the client logs the wait every
  /// few seconds. The client waits for unreachable brokers without a limit.
  public var topicTimeout: Duration

  /// Creates options; by default, all feeds of the topic are followed from its beginning.
  public init(
    kafka: KafkaConfiguration,
    topic: String = "feeds.changesets",
    partitions: Set<Int32>? = nil,
    feeds: [String]? = nil,
    topicTimeout: Duration = .seconds(30)
  ) {
    self.kafka = kafka
    self.topic = topic
    self.partitions = partitions
    self.feeds = feeds
    self.topicTimeout = topicTimeout
  }
}

/// Why a client stopped.
public struct FeedClientError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; stable.
  public enum Code: String, Sendable {
    /// The changesets topic does not exist.
    case missingTopic = "missing-topic"
    /// The topic lacks a requested partition.
    case unknownPartition = "unknown-partition"
    /// Kafka refused a request; the message has the reason. Transient errors are not reported here.
    case kafka
  }

  /// The kind of error; stable.
  public let code: Code
  /// The topic, the partition, and the remedy.
  public let message: String

  /// Code and message.
  public var description: String { "\(code.rawValue): \(message)" }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: KafkaError) { self.init(.kafka, error.description) }
}
