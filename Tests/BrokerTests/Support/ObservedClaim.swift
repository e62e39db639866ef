import FeedTestSupport

/// What a changeset says a feed is after a record of the input: to be compared with the oracle.
struct ObservedClaim: Sendable, Hashable {
  let key: OracleFeedKey
  let through: [String: Int]
  let checksum: String
}
