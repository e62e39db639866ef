import Diagnostics
import Feed
import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
import OperatingSystem
import Synchronization

/// One run of `feedstore publish`, on one thread.
final class PublishRun {
  private let publisher: FilePublisher
  private let producer: Producer
  private let limits: RecordLimits
  private let reader: ReplayReader
  private var pacer: Pacer?
  private var routes: [[UInt8]: PublishRoute] = [:]
  private var report = PublishReport()
  private var progress: ProgressBar
  /// The headers of the current record.
  private var headers = HeaderList()
  /// The timestamp of the previous record.
  private var previousTimestamp: Int64?
  private let startedAt = MonotonicClock.nanoseconds()

  /// The maximum time of one blocking call, so that a stop request is noticed.
  private static let sliceMilliseconds: Int64 = 100
  private static let closeMilliseconds: Int32 = 5_000
  /// A longer wait for a record is logged.
  private static let longWaitMilliseconds: Int64 = 60_000
  /// The number of records between two polls for delivery reports.
  private static let pollInterval = 256

  init(_ publisher: FilePublisher, _ settings: KafkaSettings) throws {
    self.publisher = publisher
    let log = publisher.log
    producer = try Producer(configuration: settings.producer, log: log.kafkaHandler)
    limits = RecordLimits(settings, producer, log: log)
    reader = ReplayReader(
      paths: publisher.inputs,
      defaultTopic: publisher.configuration.store.topics.items,
      stop: publisher.stop
    )
    pacer = publisher.speed.map { Pacer(speed: $0) }
    progress = ProgressBar("publishing", total: reader.totalBytes, now: startedAt)
  }

  func run() throws -> PublishReport {
    defer {
      progress.finish()
      try? producer.close(timeoutMilliseconds: report.isInterrupted ? 0 : Self.closeMilliseconds)
    }
    do {
      while let record = try reader.current() {
        try pace(record.position.timestamp)
        guard !publisher.stop.isRequested else {
          report.isInterrupted = true
          break
        }
        try send(record)
        reader.advance()
        if report.records % Self.pollInterval == 0 { try poll(0) }
      }
      try deliver()
    } catch let error as KafkaError {
      throw DaemonError(error)
    } catch let error as ReplayError where error.code == .interrupted {
      report.isInterrupted = true
      try deliver()
    } catch {
      // Records that were already sent still arrive.
      try? deliver()
      guard let error = error as? ReplayError, report.records > 0 else { throw error }
      let undelivered = report.undelivered > 0 ? " (not delivered: \(report.undelivered))" : ""
      throw error.adding("; records published before it: \(report.records)\(undelivered)")
    }
    report.nanoseconds = MonotonicClock.nanoseconds() - startedAt
    return report
  }

  /// Waits until a record is due or a stop is requested.
  private func pace(_ timestamp: Int64) throws {
    defer { previousTimestamp = timestamp }
    var isTold = false
    while !publisher.stop.isRequested {
      let now = MonotonicClock.milliseconds()
      guard let wait = pacer?.wait(for: timestamp, now: now), wait > 0 else { return }
      if !isTold, wait > Self.longWaitMilliseconds { tellWait(wait, timestamp) }
      isTold = true
      try poll(min(wait, Self.sliceMilliseconds))
    }
  }

  private func tellWait(_ milliseconds: Int64, _ timestamp: Int64) {
    publisher.log.write(
      .publishWaitingForTime,
      """
      \(reader.place): waiting for the timestamp \(ReplayReader.text(timestamp)), after \
      \(previousTimestamp.map(ReplayReader.text) ?? "none"); nothing is sent until then; raise --speed, or correct the \
      timestamps
      """,
      ["wait": LogFigure.duration(milliseconds: milliseconds)]
    )
  }

  private func send(_ record: InputRecord) throws {
    let topic = record.position.topic
    if routes[topic] == nil { routes[topic] = try route(topic) }
    guard var route = routes[topic] else { return }
    let partition = try route.partition(key: record.key?.rawBuffer, recorded: record.partition)
    routes[topic] = route
    try takeHeaders()
    if let refusal = limits.refusal(ofBytes: record.byteCount + headers.byteCount, to: route.topic) {
      throw reader.refusal("the record \(refusal)")
    }
    func produce() throws(KafkaError) {
      try producer.produce(
        topic: route.topic,
        partition: partition,
        key: record.key?.rawBuffer,
        value: record.valueBytes?.rawBuffer,
        headers: headers,
        timestampMilliseconds: record.position.timestamp
      )
    }
    while try !Producer.hasRoom(produce) {
      try poll(Self.sliceMilliseconds)
      if publisher.stop.isRequested { return }
    }
    report.records += 1
    report.bytes += record.byteCount
    report.topics[route.topic, default: 0] += 1
  }

  /// Copies a changeset's headers, so that the output of a replay can be published.
  private func takeHeaders() throws(ReplayError) {
    headers.removeAll()
    let fields = reader.headers
    for index in stride(from: 0, to: fields.count, by: 2) {
      guard let name = fields[index] else {
        throw reader.refusal("the field 'headers' has null where the name of a header is expected")
      }
      guard index + 1 < fields.count else {
        throw reader.refusal(
          "the field 'headers' ends with the name \(name.quotedForMessage()) and no value; a header without one has null"
        )
      }
      headers.append(Header(name: name.text, value: fields[index + 1].map { Array($0.buffer) }))
    }
  }

  /// Queries a topic's number of partitions, and waits for the brokers if necessary.
  private func route(_ name: [UInt8]) throws -> PublishRoute? {
    let topic = String(decoding: name, as: UTF8.self)
    let timeout = publisher.configuration.startupTimeoutMilliseconds
    let startedAt = MonotonicClock.milliseconds()
    var wait = TopicWait(milliseconds: timeout)
    while !publisher.stop.isRequested {
      publisher.stop.records.store(
        report.records - report.undelivered - producer.queuedCount,
        ordering: .relaxed
      )
      do {
        let metadata = try producer.metadata([topic], timeoutMilliseconds: 1_000)
        guard let count = metadata.partitionCounts[topic] else {
          if wait.lasts(for: [topic], at: MonotonicClock.milliseconds(), publisher.log) {
            try poll(Int64(TopicWait.pauseMilliseconds))
            continue
          }
          throw DaemonError(
            .missingTopic,
            "topic \(topic) does not exist, or may not be read; create it, or change the records"
          )
        }
        let topics = publisher.configuration.store.topics
        let isInput = topics.inputs.contains(topic) || topic == topics.contents
        return PublishRoute(topic, isInput: isInput, partitionCount: count)
      } catch let error as KafkaError where error.isRetriable && !error.isFatal {
        guard MonotonicClock.milliseconds() - startedAt < timeout else { throw error }
        if !error.isConnectionFault {
          publisher.log.write(.publishWaitingForBrokers, "waiting for brokers", ["error": error])
        }
      }
    }
    return nil
  }

  /// Waits until every record is delivered or has failed, or the stop deadline passes.
  private func deliver() throws {
    while producer.queuedCount > 0 {
      if let deadline = publisher.stop.deadline, MonotonicClock.milliseconds() > deadline {
        report.undelivered += producer.queuedCount
        break
      }
      try flush()
      try poll(0)
    }
    takeErrors()
  }

  /// Sends queued records for a limited time.
  private func flush() throws(KafkaError) {
    do throws(KafkaError) {
      try producer.flush(timeoutMilliseconds: Int32(Self.sliceMilliseconds))
    } catch {
      guard error.isRetriable, !error.isFatal else { throw error }
    }
  }

  private func poll(_ milliseconds: Int64) throws {
    try producer.poll(timeoutMilliseconds: Int32(clamping: milliseconds))
    takeErrors()
    if publisher.showsProgress { progress.update(reader.bytesRead, now: MonotonicClock.nanoseconds()) }
  }

  private func takeErrors() {
    let errors = producer.takeDeliveryErrors()
    report.undelivered += errors.count
    for error in errors.errors {
      publisher.log.write(.publishRecordUndelivered, "record not delivered", ["error": error])
    }
  }
}

extension Producer {
  /// Calls a body that produces a record; returns false if the queue is full.
  static func hasRoom(_ produce: () throws(KafkaError) -> Void) throws(KafkaError) -> Bool {
    do throws(KafkaError) {
      try produce()
      return true
    } catch {
      guard error.kind == .queueFull else { throw error }
      return false
    }
  }
}

/// Chooses the partitions for records of one topic.
struct PublishRoute {
  let topic: String
  /// Keys determine the partitions in an input topic and in the contents topic.
  private let isInput: Bool
  private var partitioner: Murmur2Partitioner

  init(_ topic: String, isInput: Bool, partitionCount: Int32) {
    self.topic = topic
    self.isInput = isInput
    partitioner = Murmur2Partitioner(partitionCount: partitionCount)
  }

  /// The partition of a record.
  ///
  /// On an input topic, the key determines it, because the number of partitions may have changed since the recording.
  /// On other topics, the recorded partition is kept: a changeset's partition is its feed's, and does not follow from
  /// its key.
  ///
  /// - Throws: ``DaemonError`` if the partition does not exist.
  mutating func partition(key: UnsafeRawBufferPointer?, recorded: Int32) throws(DaemonError) -> Int32 {
    if isInput { return partitioner.partition(forKey: key) }
    guard recorded >= 0, recorded < partitioner.partitionCount else {
      throw DaemonError(
        .partitionCounts,
        """
        a record is of \(topic) [\(recorded)], but the topic has \(partitioner.partitionCount) partitions; \
        add partitions, or change the record
        """
      )
    }
    return recorded
  }
}

/// Computes when a record of a recording is due, from the distances between timestamps.
struct Pacer {
  /// The speed, as a multiple of the recorded one.
  private let speed: Double
  /// The first record's timestamp, and the time at which it was sent.
  private var start: (timestamp: Int64, time: Int64)?

  /// - Parameter speed: greater than 0; 1 is the recorded speed, 2 twice as fast.
  init(speed: Double) {
    self.speed = speed
  }

  /// The wait before a record, in milliseconds. A timestamp before the first one is due at once.
  ///
  /// - Parameters:
  ///   - timestamp: the record's timestamp, in milliseconds.
  ///   - now: the time, in milliseconds of a steady clock.
  mutating func wait(for timestamp: Int64, now: Int64) -> Int64 {
    guard let start else {
      start = (timestamp, now)
      return 0
    }
    let distance = Double(timestamp) - Double(start.timestamp)
    // Limited, so that a huge gap in the recording cannot overflow.
    let due = min(distance / speed, 1e15)
    return max(0, start.time + Int64(due) - now)
  }
}
