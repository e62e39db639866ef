public import FeedTestSupport

/// The oracle's result for the input, read from the topics partition by partition, in order.
public struct InputOracle: Sendable {
  public private(set) var feeds: [OracleFeedKey: OracleFeed] = [:]
  public private(set) var rejected: [Observation.Source: Observation.Rejected] = [:]
  public private(set) var records = 0
  /// The checksum of a feed after each of its records, by the records' positions.
  private var checksums: [OracleFeedKey: [Place: String]] = [:]

  private struct Place: Hashable {
    var topic: String
    var offset: Int
  }

  /// - Parameter records: the whole input. No feed is in both topics, so their relative order does not matter.
  public init(_ records: [TopicRecord]) {
    var oracle = Oracle()
    for record in records { take(record.oracleRecord, &oracle) }
    for key in oracle.feedKeys { feeds[key] = oracle.current(key) }
  }

  private mutating func take(_ record: OracleRecord, _ oracle: inout Oracle) {
    records += 1
    if case .rejected(let rejection) = oracle.apply(record) {
      let source = Observation.Source(
        topic: record.topic,
        partition: record.partition,
        offset: record.offset
      )
      rejected[source] = Observation.Rejected(
        code: rejection.code.rawValue,
        key: record.key,
        value: record.value
      )
    } else if let id = record.key {
      let key = OracleFeedKey(partition: record.partition, id: id)
      let checksum = OracleChecksum.text(oracle.current(key).map(OracleChecksum.of) ?? 0)
      checksums[key, default: [:]][Place(topic: record.topic, offset: record.offset)] = checksum
    }
  }

  /// What is wrong with the observed output; empty if nothing is.
  public func complaints(about observation: Observation) -> [String] {
    var complaints = observation.violations
    complaints += observation.claims.compactMap { complaint(about: $0) }
    complaints += self.complaints(about: observation.feeds.mapValues(\.feed))
    for (source, record) in rejected where observation.rejected[source] != record {
      let found = observation.rejected[source].map { "rejected as \($0.code)" } ?? "not rejected"
      complaints.append("\(source) is \(found), expected \(record.code), key and value unchanged")
    }
    for source in observation.rejected.keys where rejected[source] == nil {
      complaints.append("\(source) was rejected, and should not have been")
    }
    return complaints
  }

  /// Compares the final feeds.
  public func complaints(about found: [OracleFeedKey: OracleFeed]) -> [String] {
    Set(feeds.keys).union(found.keys).sorted().compactMap { key in
      if feeds[key] == found[key] { return nil }
      let expected = feeds[key].map { "\($0.itemCount) items" } ?? "none"
      let actual = found[key].map { "\($0.itemCount) items" } ?? "none"
      return "\(name(key)) is not what the input comes to: \(actual), expected \(expected)"
    }
  }

  /// Whether a changeset's claim matches the feed after the records it covers.
  public func complaint(about claim: ObservedClaim) -> String? {
    guard claim.through.count == 1, let (topic, offset) = claim.through.first else {
      return "\(name(claim.key)) has records of \(claim.through.count) topics"
    }
    let expected = checksums[claim.key]?[Place(topic: topic, offset: offset)]
    if expected == claim.checksum { return nil }
    return """
      \(name(claim.key)) through \(topic)/\(offset) has checksum \(claim.checksum), \
      expected \(expected ?? "no changeset")
      """
  }

  private func name(_ key: OracleFeedKey) -> String {
    "feed \(String(decoding: key.id, as: UTF8.self).debugDescription) of partition \(key.partition)"
  }
}
