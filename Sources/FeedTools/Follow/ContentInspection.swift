package import Diagnostics
import Feed
import FeedClient
package import FeedConfiguration
import FeedKafka
import FeedStore
import Kafka
package import OperatingSystem
import Settings

/// `feedstore inspect --content`: a content, and the items that refer to it.
package enum ContentInspection {
  /// The maximum number of items in a report.
  package static let mostItems = 100
  private static let mostValueCharacters = 10_000

  /// Reads the contents topic and the changesets topic to their ends.
  ///
  /// - Returns: the report; nil if neither has the content.
  /// - Throws: ``ConfigurationError``; `FeedClientError`; ``StoppedEarly``; ``ReplayError`` if it is interrupted; ``DaemonError``.
  package static func run(
    _ configuration: FeedStoreConfiguration,
    id: String,
    stop: StopRequest,
    log: Log
  ) async throws -> String? {
    guard let topic = configuration.store.topics.contents else {
      throw ConfigurationError("topics.contents is not set; set it to the topic with the contents")
    }
    let records = try await records(of: Array(id.utf8), topic, configuration, log)
    let session = try FollowSession(configuration, stop: stop, log: log)
    return try await session.readOnce(patienceMilliseconds: FollowSession.patienceMilliseconds) { client in
      var rows: [[String]] = []
      var (items, feeds) = (0, 0)
      for content in client.contents() {
        let found = content.snapshot.items(referringTo: id)
        items += found.count
        feeds += found.isEmpty ? 0 : 1
        let name = FollowLine.name(content.description.feed, in: content.description.partition)
        for (item, names) in found.prefix(mostItems - rows.count) {
          rows.append(
            [name, item.description, names.joined(separator: ", ")].map { UpdateText.printable($0) }
          )
        }
      }
      if records.isEmpty, items == 0 { return nil }
      let shown = records.isEmpty ? "\(topic) has no record of it: items show null\n" : records.joined()
      let count = "items: \(Quantity.count(items)), in feeds: \(Quantity.count(feeds))\n"
      let rest = items > rows.count ? "… and \(Quantity.count(items - rows.count)) more\n" : ""
      return shown + count + (rows.isEmpty ? "" : FollowLine.table(rows, widest: 60)) + rest
    }
  }

  /// A line for the newest record of the content in each partition, because a topic whose partitions were added to may have
  /// several.
  private static func records(
    of id: [UInt8],
    _ topic: String,
    _ configuration: FeedStoreConfiguration,
    _ log: Log
  ) async throws -> [String] {
    try await WorkerThread.withKafka("inspect", configuration) { settings in
      let reader = try TopicReader(
        settings,
        configuration,
        topic: (topic, "topics.contents"),
        patienceMilliseconds: FollowSession.patienceMilliseconds,
        log: log
      )
      defer { try? reader.close() }
      var lines: [Int32: String] = [:]
      try reader.read(try reader.wholePartitions()) { message in
        guard message.key?.elementsEqual(id) == true else { return true }
        let time = Timestamp.rfc3339(milliseconds: message.timestampMilliseconds)
        let value = message.payload.map {
          UpdateText.cut(String(decoding: $0, as: UTF8.self), most: mostValueCharacters)
        }
        lines[message.partition] =
          "\(topic) \(message.partition)/\(message.offset)  \(time)  \(UpdateText.printable(value ?? "deleted"))\n"
        return true
      }
      return lines.sorted { $0.key < $1.key }.map(\.value)
    }
  }
}
