import Changesets
import Feed
import FeedClient
import FeedStore
import FeedWorker
import FoundationEssentials
import Service

/// The JSON documents of docs/http.md, except changesets.
enum FeedDocuments {
  /// `GET /v1/feeds`.
  struct FeedList: Encodable {
    let standing: String
    let count: Int
    let feeds: [FeedEntry]
    let next: String?
  }

  /// One feed of the list.
  struct FeedEntry: Encodable {
    let feed: String
    let partition: Int32
    let epoch: String
    let revision: UInt64
    let time: String
    let sections: Int
    let items: Int
    let checksum: String
    let standing: String
    /// Absent if there are none.
    let otherPartitions: [Int32]?

    init(_ description: FeedDescription, otherPartitions: [Int32]) {
      feed = description.feed
      partition = description.partition
      epoch = description.epoch
      revision = description.revision
      time = Timestamp.rfc3339(milliseconds: description.timeMilliseconds)
      sections = description.sectionCount
      items = description.itemCount
      checksum = Replica.hexadecimal(description.checksum)
      standing = FeedDocuments.name(description.standing)
      self.otherPartitions = otherPartitions.isEmpty ? nil : otherPartitions
    }
  }

  /// `GET /v1/rejected`.
  struct RejectedList: Encodable {
    let rejected: [RejectedEntry]

    /// The newest ones come first.
    init(_ rejections: RecentRejections, limit: Int) {
      rejected = rejections.entries.suffix(limit).reversed().map(RejectedEntry.init)
    }
  }

  /// One rejected record.
  struct RejectedEntry: Encodable {
    struct Source: Encodable {
      let topic: String
      let partition: Int32
      let offset: Int64
    }

    let time: String
    let code: String
    let message: String
    let key: String?
    let value: String?
    let valueBytes: Int?
    let source: Source

    init(_ entry: RecentRejections.Entry) {
      let record = entry.record
      time = Timestamp.rfc3339(milliseconds: entry.time)
      code = record.rejection.code.rawValue
      message = record.rejection.message
      key = record.key.map(Self.text)
      value = record.value.map(Self.text)
      valueBytes = entry.valueBytes
      source = Source(
        topic: String(decoding: record.topic, as: UTF8.self),
        partition: record.partition,
        offset: record.offset
      )
    }

    /// Text of bytes; cut ones may end within a character, which is left out.
    private static func text(_ bytes: [UInt8]) -> String {
      for cut in 0..<4 where bytes.count == RecentRejections.keptBytes {
        if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) { return text }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// `GET /v1/status`.
  struct Status: Encodable {
    let version: String
    let instance: String
    /// Absent if feeds are not served.
    let standing: String?
    let startedAt: String
    let ready: Bool
    let reasons: [DaemonHealth.Reason]
    let workers: [Worker]
    let partitions: [Partition]
    /// Absent where standby is off.
    let standby: Standby?
    let feeds: Totals
    let counters: Counters
    let http: Connections
    let planner: Planner
  }

  /// `GET /livez` and `/readyz`.
  struct Health: Encodable {
    let status: Int
    let code: String
    let detail: String?
    let reasons: [DaemonHealth.Reason]
  }

  struct Worker: Encodable {
    let worker: Int
    let state: String
    let partitions: [Int32]
    let stopped: [Int32]
    let waitingRecords: Int

    init(_ status: WorkerStatus) {
      let statistics = status.statistics
      worker = status.number
      state = statistics.phase.rawValue
      partitions = statistics.partitions.sorted()
      stopped = statistics.stopped.sorted()
      waitingRecords = status.waitingRecords
    }
  }

  /// Standing and position are the follower's; absent if feeds are not served.
  struct Partition: Encodable {
    let partition: Int32
    let standing: String?
    let position: Int64?
    let inputLag: Int64?
  }

  /// What is followed of partitions that are not the workers'.
  struct Standby: Encodable {
    let followed: [Int32]
    let reading: [Int32]
    let tooLarge: [Int32]
    let damaged: [Int32]
    let stateBytes: Int
    let lag: Int64

    init(_ status: StandbyStatus) {
      followed = status.followed
      reading = status.reading
      tooLarge = status.tooLarge
      damaged = status.damaged
      stateBytes = status.bytes
      lag = status.lag
    }
  }

  struct Totals: Encodable {
    let count: Int
    let sections: Int
    let items: Int

    init(_ content: StoreContent) {
      count = content.feeds
      sections = content.sections
      items = content.items
    }

    init(_ feeds: FeedListing.Feeds) {
      count = feeds.all.count
      sections = feeds.sectionCount
      items = feeds.itemCount
    }
  }

  struct Counters: Encodable {
    let records: Int
    let rejected: Int
    let noOps: Int
    let changesets: Int
    let reconfigures: Int
    let diffs: Int
    let reloads: Int
    let deletes: Int
    let keyframes: Int
    let flushes: Int
    let inputBytes: Int
    let outputBytes: Int
    let outputRecords: Int

    init(_ counters: StoreCounters) {
      records = counters.records
      rejected = counters.rejectedRecords
      noOps = counters.noOps.values.reduce(0, +)
      changesets = counters.publishedChangesets
      reconfigures = counters.changesets[.reconfigure] ?? 0
      diffs = counters.changesets[.diff] ?? 0
      reloads = counters.changesets[.reload] ?? 0
      deletes = counters.changesets[.delete] ?? 0
      keyframes = counters.reloads[.keyframe] ?? 0
      flushes = counters.flushes
      inputBytes = counters.inputBytes
      outputBytes = counters.outputBytes
      outputRecords = counters.outputRecords
    }
  }

  struct Connections: Encodable {
    let connections: Int
    let streams: Int
    let queuedEvents: Int
    let droppedEvents: Int

    init(_ counters: HTTPCounters) {
      connections = counters.openConnections
      streams = counters.openStreams
      queuedEvents = counters.queuedEvents
      droppedEvents = counters.refusedEvents
    }
  }

  struct Planner: Encodable {
    let maxChanges: Int
    let maxChangedFraction: Double
    let minimumItems: Int
    let maxKindFraction: Double
    let maxReloadRatio: Double
    let maxBytesRatio: Double
  }

  /// A standing as it appears in JSON.
  static func name(_ standing: FeedStanding) -> String {
    switch standing {
    case .mustRefetch: "must-refetch"
    case .bootstrapping: "bootstrapping"
    case .catchingUp: "catching-up"
    case .upToDate: "up-to-date"
    }
  }

  /// A response with a document.
  static func response(_ document: some Encodable) -> HTTPResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return HTTPResponse(
        contentType: "application/json",
        content: HTTPContent(Array(try encoder.encode(document)))
      )
    } catch {
      return .problem(status: 500, code: "internal", detail: "the document cannot be written: \(error)")
    }
  }
}
