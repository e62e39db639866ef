import Feed
import FeedStatus
import Kafka
import Service
import Synchronization

/// Finds the outcomes of records: from the workers of this process, or from the instance that has the partition.
final class WriteOutcomes: Sendable {
  struct Record: Sendable {
    let feed: ByteText
    let place: TopicPartition
    /// Negative if the brokers did not report it.
    let offset: Int64
    /// The client's header `Authorization`, for the other instance.
    let authorization: String?
    /// Whether another instance asks, which is not referred to a third one.
    var isForwarded = false
  }

  private let status: DaemonStatus
  /// Nil if instances do not announce their addresses.
  private let directory: InstanceDirectory?
  /// The clients that wait, by numbers; nil once the process stops.
  private let waiting = Mutex<[Int: Task<Void, Never>]?>([:])
  private let requestCount = Atomic(0)

  /// The most requests to other instances at a time. Each takes a thread.
  private static let mostRequests = 200
  /// The greatest age of addresses for the first attempt, and for further ones, which follow after this pause.
  private static let (addressMilliseconds, pauseMilliseconds): (Int64, Int64) = (30_000, 250)

  init(_ status: DaemonStatus, _ directory: InstanceDirectory?) {
    self.status = status
    self.directory = directory
  }

  /// Answers when the outcome is known, or after the wait with what is known already.
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

  /// Answers all clients that wait.
  func stop() {
    let tasks = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting?.values
    }
    for task in tasks.map({ Array($0) }) ?? [] { task.cancel() }
  }

  /// - Parameter end: in milliseconds of ``MonotonicClock``.
  /// - Returns: nil if it is not known in time, or only another instance could know it.
  private func outcome(of record: Record, until end: Int64) async -> HTTPResponse? {
    var age = Self.addressMilliseconds
    while !Task.isCancelled {
      if status.owns(record.place.partition) {
        switch await ownOutcome(of: record) {
        case .published(let version, let changed): return record.answer(200, version, changed: changed)
        case .rejected(let rejection): return rejection.response
        case .forgotten: return record.answer(202)
        case .released: break
        }
      } else {
        guard !record.isForwarded, let directory else { return nil }
        let isFree = requestCount.add(1, ordering: .relaxed).newValue <= Self.mostRequests
        defer { requestCount.subtract(1, ordering: .relaxed) }
        let ask = { @Sendable [age] in
          directory.knownURLs(atMost: age)[record.place.partition]
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

  /// Asks another instance. It blocks the thread.
  ///
  /// - Returns: nil if it does not know, or not any more.
  private static func ask(_ url: String, _ record: Record, until end: Int64) -> HTTPResponse? {
    let seconds = max(1, (end - MonotonicClock.milliseconds()) / 1_000)
    var headers = [HTTPField("Prefer", "wait=\(seconds)"), HTTPField("Feedstore-Forwarded", "1")]
    if let authorization = record.authorization { headers.append(HTTPField("Authorization", authorization)) }
    let path = "/v1/feeds/\(PercentEncoding.encode(record.feed.string))/events"
    let query = "?partition=\(record.place.partition)&offset=\(record.offset)"
    let answer = PeerRequest.get(url + path + query, headers, within: seconds * 1_000 + 2_000)
    // It is final if the other instance has waited for it.
    guard let answer, [200, 202, 422].contains(answer.status), answer.head.contains("\r\nPreference-Applied:")
    else { return nil }
    let type = answer.status == 422 ? "application/problem+json" : "application/json"
    return HTTPResponse(status: answer.status, contentType: type, content: HTTPContent(answer.body))
  }
}

extension WriteOutcomes.Record {
  /// The brokers have the record.
  ///
  /// - Parameter version: what is published and covers it; nil if the feed does not exist, or it is not known.
  func answer(_ status: Int, _ version: PublishedVersion? = nil, changed: Bool? = nil) -> HTTPResponse {
    let document: JSONObject = [
      "feed": feed.string,
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
