package import Diagnostics
import Feed
import FeedClient
package import FeedConfiguration
package import OperatingSystem

/// `feedstore inspect`: the state of one feed on the changesets topic, in each partition that has it.
package enum FeedInspection {
  /// Reads the topic to its end.
  ///
  /// - Parameter patienceMilliseconds: the maximum time without a record from the topic.
  /// - Returns: the report; nil if the feed does not exist.
  /// - Throws: ``ConfigurationError``; `FeedClientError`; ``StoppedEarly``; ``DaemonError`` if the brokers send
  ///   nothing.
  package static func run(
    _ configuration: FeedStoreConfiguration,
    feed: String,
    stop: StopRequest,
    log: Log,
    patienceMilliseconds: Int64 = FollowSession.patienceMilliseconds
  ) async throws -> String? {
    let session = try FollowSession(configuration, feeds: [feed], stop: stop, log: log)
    return try await session.readOnce(patienceMilliseconds: patienceMilliseconds) { client in
      let partitions = client.partitions(of: feed)
      let lost = client.feedsWithoutContent().filter { ByteText($0.feed) == ByteText(feed) }.map {
        UpdateText(isColoured: false).line($0)
      }
      let reports = partitions.compactMap { number in
        client.content(of: feed, in: number)
          .map { Self.report($0, otherPartitions: partitions.filter { $0 != number }) }
      }
      let all = reports + lost.map { $0 + "\n" }
      return all.isEmpty ? nil : all.joined(separator: "\n")
    }
  }

  static func report(_ content: FeedContent, otherPartitions: [Int32] = []) -> String {
    let description = content.description
    let version = description.version
    var table = ReportTable(UpdateText.printable(description.feed))
    table.add("standing", text: description.standing.text)
    if let reason = description.outdated { table.add("outdated", text: UpdateText.printable(reason)) }
    table.add("partition", text: String(description.partition))
    if !otherPartitions.isEmpty {
      table.add("also in", text: "\(SharedIDs.list(otherPartitions)): \(SharedIDs.meaning)")
    }
    table.add("epoch", text: UpdateText.printable(description.epoch))
    table.add("revision", count: description.revision)
    table.add("time", text: Timestamp.rfc3339(milliseconds: description.timeMilliseconds))
    for position in version.through {
      let topic = String(decoding: position.topic, as: UTF8.self)
      table.add("through \(topic)", count: position.offset)
    }
    table.add("sections", count: description.sectionCount)
    table.add("items", count: description.itemCount)
    table.add("bytes now", bytes: content.reloadDocument().count)
    table.add("last reload", bytes: version.reloadBytes)
    table.add("its records", count: version.reloadParts)
    table.add("deltas since", bytes: version.deltaBytes)
    table.add("their records", count: version.deltaCount)
    table.add("highest delta key", count: version.highestDelta)
    if let last = description.lastChangeset {
      table.add("last changeset", text: last.mode.rawValue + (last.reason.map { " (\($0.rawValue))" } ?? ""))
      if let plan = last.plan { table.add("why", text: PlanText.sentence(plan, last.reason)) }
    }
    return table.text
  }
}
