import Feed
public import Kafka
import Service
import Synchronization

/// Follows a changesets topic: keeps a copy of every feed, and tells what changes as it comes.
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
/// The topic is read from its beginning, or from where a saved state ends (``save(to:)``), committed records only,
/// which brings the current state of every feed; from then on changes are told. The reading blocks a thread of its own while ``run()`` runs, and never one of
/// the tasks' pool. Everything else may be called from anywhere, before, while and after it runs.
///
/// **Memory** is that of the feeds followed; what librdkafka has fetched ahead (`queued.max.messages.kbytes`,
/// 64 MiB by default); and for each subscription what ``SubscriptionOptions`` allow.
public final class FeedClient: Sendable {
  private let options: FeedClientOptions
  private let log: KafkaLogHandler
  private let board: FeedBoard
  private let wasRun = Atomic(false)

  /// Makes a client; it does nothing until it is run.
  ///
  /// - Parameter log: takes lines on what passes by itself: the client's, and librdkafka's on its threads.
  public init(_ options: FeedClientOptions, log: @escaping KafkaLogHandler) {
    self.options = options
    self.log = log
    board = FeedBoard(
      partitions: options.partitions,
      keeping: options.feeds.map { Set($0.map { ByteText($0) }) }
    )
  }

  /// Follows until ``stop()`` is called, the task is cancelled, or something fails. To be called once, and once
  /// more after each ``reset()``.
  ///
  /// Subscriptions end with it: after what waits for them, or with the same error.
  ///
  /// - Throws: ``FeedClientError``. Brokers that cannot be reached are waited for.
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
    // It waits for the thread, which has nothing left to do.
    defer { thread.stop() }
    return await withTaskExecutorPreference(thread) { @concurrent [options, board, log] in
      do {
        try await ChangesetFollower(options, board, log: log).run()
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

  /// Forgets all that is known, so that a client that has ended can be run again: it reads the partitions that
  /// were asked for last as it did at first. To be called when ``run()`` has returned.
  ///
  /// What waits for subscriptions is forgotten as well; those that have not ended yet do, as the run did.
  public func reset() {
    board.reset()
    wasRun.store(false, ordering: .relaxed)
  }

  /// Asks the client to end; it does within a few tenths of a second, if the brokers can be reached.
  public func stop() { board.ask(.stop) }

  /// Follows exactly these partitions from now on, or all if nil. Those that were followed go on where they
  /// are, new ones are read from their beginning; subscribers are told `absent` of the feeds of the others.
  ///
  /// The client fails if the topic has no such partition.
  public func follow(partitions: Set<Int32>?) { board.ask(.follow(partitions)) }

  // MARK: Saving

  /// Saves what is known now into a file, for another client to begin with (``FeedClientOptions/savedState``). May be
  /// called again and again while it runs, also before everything was read, and once it has ended.
  ///
  /// The file is replaced as a whole once it is on the disk; if anything fails, the one before stays. Beside it
  /// a file `path.tmp` is written. It is text: a JSON object a line, for each feed one that is as large as its
  /// reload. The reading is held up for the list of one partition's feeds at a time, O(n log n) for its n feeds; the
  /// rest is done on a thread of its own. A feed that changes while its partition is written is copied once.
  ///
  /// - Returns: false, and leaves the file as it was, if the client does not know its partitions yet.
  /// - Throws: ``FeedClientError`` of the code `savedState` if the file cannot be written, or is being written.
  @discardableResult
  public func save(to path: String) async throws(FeedClientError) -> Bool {
    let saver = StateSaver(board: board, topic: options.topic)
    let thread = WorkerThread(name: "feed saver")
    defer { thread.stop() }
    let result: Result<Bool, FileError> = await withTaskExecutorPreference(thread) { @concurrent in
      do throws(FileError) {
        return .success(try saver.save(to: path))
      } catch {
        return .failure(error)
      }
    }
    do throws(FileError) {
      return try result.get()
    } catch {
      throw FeedClientError(.savedState, "the state was not saved: \(error)")
    }
  }

  // MARK: Subscribing

  /// The updates of some feeds, or of all if nil: first the state of those that are known, once their partition
  /// was read to its end, then what changes. A feed that is named and is not there is told as `absent`, and
  /// followed when it comes.
  ///
  /// Each call makes a subscription of its own, which counts from this call on.
  public func updates(
    of feeds: [String]? = nil,
    _ options: SubscriptionOptions = SubscriptionOptions()
  ) -> FeedUpdates {
    FeedUpdates(subscription: FeedSubscription(board, feeds: feeds, options))
  }

  // MARK: Standing

  /// Where the reading stands, over all partitions.
  public var standing: FeedStanding { board.withLock { board.standing } }

  /// Where the reading stands, now and whenever that changes, until the client ends. Only the newest waits.
  public func standings() -> AsyncStream<FeedStanding> { board.standings() }

  /// Waits until everything that the brokers have told of was read.
  ///
  /// - Returns: false if the client ended, or the task was cancelled, before that.
  public func waitUntilUpToDate() async -> Bool {
    for await standing in standings() where standing == .upToDate { return true }
    return false
  }

  // MARK: Reading

  /// The partitions that are followed, by number.
  public var partitions: [PartitionDescription] { board.partitionDescriptions }

  /// What is known of a feed besides its content; nil if it is not known, or not yet. O(1) in its size.
  public func description(of feed: String) -> FeedDescription? { board.description(of: ByteText(feed)) }

  /// The feeds that are known now, by partition and then by the bytes of their ids. The reading is held up
  /// for one partition's list at a time, in O(n log n) for its n feeds.
  public func feeds() -> [FeedDescription] { board.collect { $0.descriptions } }

  /// The feeds that are known now and what is in them, in the same order and at the same cost. The
  /// snapshots share the replicas' storage: each feed that changes while its snapshot is held is copied once.
  public func contents() -> [FeedContent] { board.collect { $0.contents } }

  /// A feed as it is now; nil if it is not known, or not yet. O(1) in its size.
  public func content(of feed: String) -> FeedContent? { board.content(of: ByteText(feed)) }
}
