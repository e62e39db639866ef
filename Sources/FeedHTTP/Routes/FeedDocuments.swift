import Changesets
import Feed
import FeedClient
import FeedStatus
import FeedStore
import FoundationEssentials
import HTTP
import OperatingSystem

/// A JSON object: values by name, without nil values.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
  private struct Member: Encodable {
    let value: any Encodable

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  private let members: [String: Member]

  init(dictionaryLiteral members: (String, (any Encodable)?)...) {
    let present = members.compactMap { name, value in value.map { (name, Member(value: $0)) } }
    self.members = Dictionary(uniqueKeysWithValues: present)
  }

  func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }

  /// A response with this document.
  var response: HTTPResponse {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      let content = HTTPContent(Array(try encoder.encode(self)))
      return HTTPResponse(contentType: "application/json", content: content)
    } catch {
      return .problem(status: 500, code: "internal", detail: "the document cannot be written: \(error)")
    }
  }
}

extension ViewID: Encodable {
  /// The id of the feed, with the name of the view, if any.
  func encode(to encoder: any Encoder) throws {
    guard let viewName else { return try feed.string.encode(to: encoder) }
    try (["feed": feed.string, "view": viewName.string] as JSONObject).encode(to: encoder)
  }
}

// The JSON documents of docs/http.md and their parts, except changesets.

extension JSONObject {
  /// One feed of `GET /v1/feeds`.
  init(_ feed: FeedDescription, otherPartitions: [Int32], isWritable: Bool) {
    self = [
      "feed": feed.feed,
      "partition": feed.partition,
      "epoch": feed.epoch,
      "revision": feed.revision,
      "time": Timestamp.rfc3339(milliseconds: feed.timeMilliseconds),
      "sections": feed.sectionCount,
      "items": feed.itemCount,
      "checksum": Replica.hexadecimal(feed.checksum),
      "standing": feed.standing.name,
      "otherPartitions": otherPartitions.isEmpty ? nil : otherPartitions,
      "writable": isWritable ? true : nil,
    ]
  }

  /// One rejected record of `GET /v1/rejected`.
  init(_ entry: RecentRejections.Entry) {
    let record = entry.record
    let source: JSONObject = [
      "topic": String(decoding: record.topic, as: UTF8.self),
      "partition": record.partition,
      "offset": record.offset,
    ]
    self = [
      "time": Timestamp.rfc3339(milliseconds: entry.time),
      "code": record.rejection.code.rawValue,
      "message": record.rejection.message,
      "key": record.key.map(Self.text),
      "value": record.value.map(Self.text),
      "valueBytes": entry.valueBytes,
      "source": source,
    ]
  }

  /// Bytes as text; without the incomplete character at the end of cut bytes.
  private static func text(_ bytes: [UInt8]) -> String {
    for cut in 0..<4 where bytes.count == RecentRejections.keptBytes {
      if let text = String(validating: bytes.dropLast(cut), as: UTF8.self) { return text }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  init(_ status: WorkerStatus) {
    let statistics = status.statistics
    self = [
      "worker": status.number,
      "state": statistics.phase.rawValue,
      "partitions": statistics.partitions.sorted(),
      "stopped": statistics.stopped.sorted(),
      "waitingRecords": status.waitingRecords,
    ]
  }

  /// The followed partitions that no worker of this process has.
  init(_ standby: StandbyStatus) {
    self = [
      "followed": standby.followed,
      "reading": standby.reading,
      "tooLarge": standby.tooLarge,
      "damaged": standby.damaged,
      "stateBytes": standby.bytes,
      "lag": standby.lag,
    ]
  }

  init(_ counters: StoreCounters) {
    self = [
      "records": counters.records,
      "rejected": counters.rejectedRecords,
      "noOps": counters.noOps.values.reduce(0, +),
      "changesets": counters.publishedChangesets,
      "reconfigures": counters.changesets[.reconfigure, default: 0],
      "diffs": counters.changesets[.diff, default: 0],
      "reloads": counters.changesets[.reload, default: 0],
      "deletes": counters.changesets[.delete, default: 0],
      "keyframes": counters.reloads[.keyframe, default: 0],
      "flushes": counters.flushes,
      "inputBytes": counters.inputBytes,
      "outputBytes": counters.outputBytes,
      "outputRecords": counters.outputRecords,
    ]
  }

  init(_ counters: HTTPCounters) {
    self = [
      "connections": counters.openConnections,
      "streams": counters.openStreams,
      "queuedEvents": counters.queuedEvents,
      "droppedEvents": counters.refusedEvents,
    ]
  }

  init(_ thresholds: PlannerThresholds) {
    var thresholds = thresholds
    var members: [String: Member] = [:]
    thresholds.forEachFigure {
      members["\($0)"] = Member(value: $1)
    } ratio: {
      members["\($0)"] = Member(value: $1)
    }
    self.members = members
  }
}

extension FeedStanding {
  /// The standing as it appears in JSON, such as `up-to-date`.
  var name: String { text.replacing(" ", with: "-") }
}
