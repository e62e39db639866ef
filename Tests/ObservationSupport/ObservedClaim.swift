public import FeedTestSupport

/// What a changeset says a feed is after a record of the input: to be compared with the oracle.
public struct ObservedClaim: Sendable, Hashable {
  public let key: OracleFeedKey
  public let through: [String: Int]
  public let checksum: String

  public init(key: OracleFeedKey, through: [String: Int], checksum: String) {
    self.key = key
    self.through = through
    self.checksum = checksum
  }
}
