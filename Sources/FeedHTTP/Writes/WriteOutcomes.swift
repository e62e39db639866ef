import Feed
import FeedClient
import FeedStatus
import HTTP
import Kafka
import OperatingSystem
import Synchronization

/// Finds the outcomes of records: from the workers of this process, or from the partition's instance.
final class WriteOutcomes: Sendable {
  struct Record: Sendable {
    /// The id of a feed, or of a content, which has no outcome.
    let feed: ByteText
    let place: TopicPartition
    /// Negative if the brokers did not report it.
    let offset: Int64
    /// The client's header `Authorization`, to pass on.
    let authorization: String?
    /// Whether another instance sent the request, which is not forwarded again.
    var isForwarded = false
    /// Whether its client may know what a condition has found. The routes ask it of those who write conditions.
    var mayRead = true
    /// The member with the id in answers.
    var member = "feed"
  }

  private let status: DaemonStatus
  private let client: FeedClient
  /// Nil if instances do not announce their addresses.
  private let directory: InstanceDirectory?
  /// The waiting clients, by number; nil once the process stops.
  private let waiting = Mutex<[Int: Task<Void, Never>]?>([:])
  private let requestCount = Atomic(0)

  /// The maximum number of concurrent requests to other instances. Each blocks a thread.
  private static let mostRequests = 200
  /// The maximum age of addresses for the first attempt, and for the others, which follow after this pause.
  private static let (addressMilliseconds, pauseMilliseconds): (Int64, Int64) = (30_000, 250)

  /// The longest wait until a published version is served, which another epoch may follow at once; and the interval of checks.
  private static let (serveMilliseconds, checkMilliseconds): (Int64, Int64) = (1_000, 2)

  init(_ status: DaemonStatus, _ client: FeedClient, _ directory: InstanceDirectory?) {
    self.status = status
    self.client = client
    self.directory = directory
  }

  /// Answers when the outcome is known, or with the known facts after the wait.
  ///
  /// - Parameter wait: nil to answer at once.
  func answer(_ record: Record, _ wait: Duration?, _ response: HTTPLaterResponse) {
    let accepted = record.answer(202)
    let number = status.writes.makeNumber()
    let isWaiting = waiting.withLock { waiting in
      guard let wait, record.offset >= 0, waiting != nil else { return false }
      let task = Task {
        await withTaskCancellationHandler {
          let seconds = wait.components.seconds
          var answer = await self.outcome(of: record, until: MonotonicClock.milliseconds() + seconds * 1_000)
          answer?.headers.append(HTTPField("Preference-Applied", "wait=\(seconds)"))
          response.give(answer ?? accepted)
        } onCancel: {
          response.give(accepted)
        }
        _ = self.waiting.withLock { $0?.removeValue(forKey: number) }
      }
      waiting![number] = task
      Task {
        try? await Task.sleep(for: wait)
        task.cancel()
      }
      return true
    }
    if !isWaiting { response.give(accepted) }
  }

  /// Answers all waiting clients.
  func stop() {
    let tasks = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting?.values
    }
    for task in tasks.map({ Array($0) }) ?? [] { task.cancel() }
  }

  /// - Parameter end: in milliseconds of ``MonotonicClock``.
  /// - Returns: nil if it does not become known in time, or only another instance can know it.
  private func outcome(of record: Record, until end: Int64) async -> HTTPResponse? {
    var age = Self.addressMilliseconds
    while !Task.isCancelled {
      if status.owns(record.place.partition) {
        switch await ownOutcome(of: record) {
        case .published(let version, let changed):
          await waitUntilServed(version, record, until: end)
          return record.answer(200, version, changed: changed)
        case .rejected(let rejection): return rejection.response(mayRead: record.mayRead)
        case .forgotten: return record.answer(202)
        case .released: break
        }
      } else {
        guard !record.isForwarded, let directory else { return nil }
        let isFree = requestCount.add(1, ordering: .relaxed).newValue <= Self.mostRequests
        defer { requestCount.subtract(1, ordering: .relaxed) }
        let ask = { @Sendable [age] in
          directory.urls(youngerThan: age)[record.place.partition]
            .flatMap { Self.ask($0, record, until: end) }
        }
        if isFree, let answer = await SystemThread.run("peer", ask) { return answer }
        age = Self.pauseMilliseconds
      }
      // Partitions are moving.
      try? await Task.sleep(for: .milliseconds(Self.pauseMilliseconds))
    }
    return nil
  }

  /// Waits until the replica has a published version, so that the client does not read an older one afterwards.
  ///
  /// - Parameter version: nil if the feed does not exist.
  private func waitUntilServed(_ version: PublishedVersion?, _ record: Record, until end: Int64) async {
    let end = min(end, MonotonicClock.milliseconds() + Self.serveMilliseconds)
    while !Task.isCancelled, MonotonicClock.milliseconds() < end {
      let served = client.description(of: record.feed.string, in: record.place.partition)?.version
      if served?.epoch == version?.epoch, served?.revision ?? 0 >= version?.revision ?? 0 { return }
      try? await Task.sleep(for: .milliseconds(Self.checkMilliseconds))
    }
  }

  private func ownOutcome(of record: Record) async -> AwaitedWrites.Outcome {
    let number = status.writes.makeNumber()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        status.writes.ask(number, record.feed, in: record.place.partition, at: record.offset) {
          continuation.resume(returning: $0)
        }
        if Task.isCancelled || !status.owns(record.place.partition) { status.writes.forget(number) }
      }
    } onCancel: {
      status.writes.forget(number)
    }
  }

  /// Asks another instance. Blocks the thread.
  ///
  /// - Returns: nil if that instance does not know the outcome, or no longer.
  private static func ask(_ url: String, _ record: Record, until end: Int64) -> HTTPResponse? {
    let seconds = max(1, (end - MonotonicClock.milliseconds()) / 1_000)
    var headers = [HTTPField("Prefer", "wait=\(seconds)"), HTTPField("Feedstore-Forwarded", "1")]
    if let authorization = record.authorization { headers.append(HTTPField("Authorization", authorization)) }
    let path = "/v1/feeds/\(PercentEncoding.encode(record.feed.string))/events"
    let query = "?partition=\(record.place.partition)&offset=\(record.offset)"
    let answer = try? HTTPClient.get(url + path + query, headers, within: seconds * 1_000 + 2_000)
    // It is final if the other instance has waited for it.
    guard let answer, [200, 202, 412, 422].contains(answer.status),
      answer.head.contains("\r\nPreference-Applied:")
    else { return nil }
    let type = answer.status >= 400 ? "application/problem+json" : "application/json"
    return HTTPResponse(status: answer.status, contentType: type, content: HTTPContent(answer.body))
  }
}

extension WriteOutcomes.Record {
  /// The brokers have the record.
  ///
  /// - Parameter version: the published version with the record; nil if unknown or the feed does not exist.
  func answer(_ status: Int, _ version: PublishedVersion? = nil, changed: Bool? = nil) -> HTTPResponse {
    let document: JSONObject = [
      member: feed.string,
      "topic": place.topic,
      "partition": place.partition,
      "offset": offset < 0 ? nil : offset,
      "epoch": version.map { String(decoding: $0.epoch, as: UTF8.self) },
      "revision": version?.revision,
      "changed": changed,
    ]
    var response = document.response
    response.status = status
    return response
  }
}
