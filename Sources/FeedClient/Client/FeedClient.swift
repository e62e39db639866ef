package import Feed
public import Kafka
import Service
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
/// 64 MiB by default), and for each subscription what ``SubscriptionOptions`` allows.
public final class FeedClient: Sendable {
  private let options: FeedClientOptions
  private let log: KafkaLogHandler
  private let board: FeedBoard
  private let wasRun = Atomic(false)
  private let onProgress = Mutex<(@Sendable ([PartitionProgress]) -> Void)?>(nil)

  /// Creates a client. It does nothing until ``run()`` is called.
  ///
  /// - Parameter log: receives log lines of the client, and those of librdkafka, on librdkafka's threads.
  public init(_ options: FeedClientOptions, log: @escaping KafkaLogHandler) {
    self.options = options
    self.log = log
    board = FeedBoard(
      partitions: options.partitions,
      keeping: options.feeds.map { Set($0.map { ByteText($0) }) }
    )
  }

  /// Follows the topic until ``stop()`` is called, the task is cancelled, or an error occurs. Call it once, and once
  /// more after each ``reset()``.
  ///
  /// Subscriptions end with the run: after their pending updates, or with the same error.
  ///
  /// - Throws: ``FeedClientError``. Unreachable brokers are not an error; the client waits for them.
  public func run() async throws(FeedClientError) {
    let isFirst = !wasRun.exchange(true, ordering: .relaxed)
    precondition(isFirst, "a client can run only once, unless it is reset")
    let result = await withTaskCancellationHandler {
      await follow()
    } onCancel: {
      stop()
    }
    switch result {
    case .success: board.finish(.stopped)
    case .failure(let error):
      board.finish(.failed(error))
      throw error
    }
  }

  private func follow() async -> Result<Void, FeedClientError> {
    let thread = WorkerThread(name: "feed client")
    // This only joins the thread, which has no work left.
    defer { thread.stop() }
    let onProgress = onProgress.withLock { $0 }
    return await withTaskExecutorPreference(thread) { @concurrent [options, board, log] in
      do {
        try await ChangesetFollower(options, board, log: log, onProgress: onProgress).run()
        return .success(())
      } catch let error as FeedClientError {
        return .failure(error)
      } catch let error as KafkaError {
        return .failure(FeedClientError(error))
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
    board.reset()
    wasRun.store(false, ordering: .relaxed)
  }

  /// Asks the client to stop. It stops within a few tenths of a second if the brokers can be reached.
  public func stop() { board.ask(.stop) }

  /// Follows exactly these partitions from now on, or all if nil. Partitions that were already followed continue, and
  /// new ones are read from their beginning. For feeds of the other partitions, subscribers receive `absent`.
  ///
  /// The client fails if the topic has no such partition.
  public func follow(partitions: Set<Int32>?) { board.ask(.follow(partitions)) }

  // MARK: Sharing

  /// Calls the body on the reading thread, at most every 20 ms while records arrive and every 100 ms otherwise. It must be quick.
  /// Takes effect with the next ``run()``.
  package func watchProgress(_ body: @escaping @Sendable ([PartitionProgress]) -> Void) {
    onProgress.withLock { $0 = body }
  }

  /// The feeds of a partition as they are now, for a store that continues from them; nil if the partition is not followed, or
  /// not as a store needs it. Reading pauses for it, in O(n) for n feeds; their states are shared until one side changes them.
  package func share(_ partition: Int32) -> SharedPartition? { board.share(partition) }

  /// Keeps what somebody else has read of a partition: if the client follows it next, it begins there. Does nothing if the
  /// client follows it already.
  ///
  /// - Parameters:
  ///   - position: everything before this offset was read.
  ///   - replicas: the feeds. Whoever has them may go on using them.
  package func adopt(_ partition: Int32, at position: Int64, from replicas: ReplicaPartition) {
    board.adopt(partition, at: position, from: replicas)
  }

  /// Forgets what ``adopt(_:at:from:)`` keeps of a partition that is not followed yet.
  package func forgetAdopted(_ partition: Int32) { board.forgetAdopted(partition) }

  // MARK: Subscribing

  /// The updates of some feeds, or of all if nil: first the state of each known feed, once its partition has been read
  /// to the end, then its changes. A requested feed that does not exist is delivered as `absent`, and followed once it
  /// is created.
  ///
  /// Each call creates a separate subscription, which starts with this call.
  public func updates(
    of feeds: [String]? = nil,
    _ options: SubscriptionOptions = SubscriptionOptions()
  ) -> FeedUpdates {
    FeedUpdates(subscription: FeedSubscription(board, feeds: feeds, options))
  }

  // MARK: Standing

  /// How far behind the client is, over all partitions.
  public var standing: FeedStanding { board.standing }

  /// How far behind the client is, now and after each change, until the client ends. Only the newest value is kept for
  /// a slow reader.
  public func standings() -> AsyncStream<FeedStanding> { board.standings() }

  /// Waits until everything that the brokers have reported has been read.
  ///
  /// - Returns: false if the client ended, or the task was cancelled, before that.
  public func waitUntilUpToDate() async -> Bool {
    for await standing in standings() where standing == .upToDate { return true }
    return false
  }

  // MARK: Reading

  /// The followed partitions, sorted by number.
  public var partitions: [PartitionDescription] { board.partitionDescriptions }

  /// The partitions that have a feed, lowest first. If there are several, each has a feed of its own: producers choose
  /// the partition of its id by different rules, which they must not do. The log says so once.
  public func partitions(of feed: String) -> [Int32] { board.partitions(of: ByteText(feed)) }

  /// The description of a feed; nil if the feed is not known, or not known yet. O(1) in its size.
  ///
  /// - Parameter partition: by default the lowest that has the feed.
  public func description(of feed: String, in partition: Int32? = nil) -> FeedDescription? {
    board.description(of: ByteText(feed), in: partition)
  }

  /// The number of ids that several of the followed partitions have.
  package var sharedIDCount: Int { board.sharedIDCount }

  /// All known feeds, sorted by partition and then by the bytes of their ids. Reading pauses while one partition is
  /// listed, in O(n log n) for its n feeds.
  public func feeds() -> [FeedDescription] { board.collect { $0.descriptions } }

  /// All known feeds with their contents, in the same order and at the same cost. The snapshots share the replicas'
  /// storage: a feed that changes while its snapshot is held is copied once.
  public func contents() -> [FeedContent] { board.collect { $0.contents } }

  /// The feeds of which no state is known, as their records lack a reload or are malformed: updates of the kind
  /// `mustRefetch`, sorted by partition and then by the bytes of the feeds' ids.
  public func feedsWithoutContent() -> [FeedUpdate] { board.collect { $0.lossesWithoutContent } }

  /// The current content of a feed; nil if the feed is not known, or not known yet. O(1) in its size.
  ///
  /// - Parameter partition: by default the lowest that has the feed.
  public func content(of feed: String, in partition: Int32? = nil) -> FeedContent? {
    board.content(of: ByteText(feed), in: partition)
  }
}
