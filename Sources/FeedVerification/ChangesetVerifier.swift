public import Feed

/// Checks records of the changesets topic against the protocol: their numbers and order, and that each
/// changeset applies to its predecessor.
///
/// It also reports faults that a replica tolerates. It reports the first fault of each feed and skips the
/// feed's later records. Memory grows with the number of existing feeds, not of records. Not thread-safe.
public final class ChangesetVerifier {
  let options: VerificationOptions
  let decoder = ChangesetDecoder()
  private var partitions: [Int32: PartitionVerifier] = [:]
  /// The counts so far; `finish` counts the feeds.
  public internal(set) var counts = VerificationCounts()

  public init(_ options: VerificationOptions) {
    self.options = options
  }

  /// Checks the next record of a partition.
  ///
  /// - Returns: the faults in it.
  public func check(_ record: VerifiedRecord, in partition: Int32) -> [VerificationFault] {
    if let known = partitions[partition] { return known.check(record) }
    let verifier = PartitionVerifier(self)
    partitions[partition] = verifier
    return verifier.check(record)
  }

  /// Ends the verification.
  ///
  /// - Returns: the faults that only the end reveals.
  public func finish() -> [VerificationFault] {
    counts.feeds = 0
    return partitions.sorted { $0.key < $1.key }.flatMap { $0.value.finish() }
  }
}

/// The settings of a verification.
public struct VerificationOptions: Sendable, Equatable {
  /// The keyframe settings of the writer.
  public var keyframes: KeyframePolicy
  public var output: OutputOptions
  /// Whether older records may be gone, as in a compacted topic: a gap is then a fault only if no later reload
  /// closes it. `through` may then begin again for an input topic, as it does after input that was lost.
  public var mayBeCompacted: Bool
  /// Whether the header `feedstore.plan` is required on each changeset that had a plan. A topic may still
  /// hold changesets of versions that did not write it.
  public var requiresPlans = true

  public init(keyframes: KeyframePolicy, output: OutputOptions, mayBeCompacted: Bool = false) {
    self.keyframes = keyframes
    self.output = output
    self.mayBeCompacted = mayBeCompacted
  }
}

/// The counts of a verification.
public struct VerificationCounts: Sendable, Equatable {
  public var records = 0
  /// Bytes of keys and values.
  public var bytes = 0
  public var nulls = 0
  /// Changesets, each counted once for all its parts, without keyframes.
  public var changesets: [ChangesetMode: Int] = [:]
  public var keyframes = 0
  /// Skipped records, whose feed has a known fault.
  public var recordsPassedOver = 0
  /// Feeds with a fault.
  public var faultyFeeds = 0
  /// Feeds that exist at the end, except those with a fault.
  public var feeds = 0

  public init() {}
}

/// The first fault of a feed, and its location.
public struct VerificationFault: Error, Sendable, Equatable {
  /// The feed's id; nil for a record without a feed.
  public let feed: String?
  public let location: VerificationLocation
  /// The record's content against the expectation.
  public let message: String
}

/// The location of a record, in the caller's numbers.
public struct VerificationLocation: Sendable, Equatable {
  /// The file or the partition.
  public var source: Int
  /// Its line, or its offset.
  public var position: Int64

  public init(source: Int, position: Int64) {
    self.source = source
    self.position = position
  }
}

/// A record of the changesets topic to verify. The caller owns its bytes.
public struct VerifiedRecord {
  public var key: ByteSpan?
  /// Nil for a Kafka null.
  public var value: ByteSpan?
  /// Names and values alternate; nil is a null.
  public var headers: [ByteSpan?]
  /// Milliseconds since 1970; nil if a broker may have set another time.
  public var timestamp: Int64?
  public var location: VerificationLocation

  public init(
    key: ByteSpan?,
    value: ByteSpan?,
    headers: [ByteSpan?],
    timestamp: Int64?,
    location: VerificationLocation
  ) {
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
    self.location = location
  }
}

/// A violation of the protocol by a record: found against expected. Replicas report the same type.
typealias Violation = ReplicaFault

/// Checks a rule of the protocol; the closure returns found against expected.
func require(_ isRight: Bool, _ violation: () -> String) throws(Violation) {
  if !isRight { throw Violation(violation()) }
}
