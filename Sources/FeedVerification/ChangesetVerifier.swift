public import Feed

/// Checks records of the changesets topic against the protocol: that they are numbered and ordered as it says, and that
/// each changeset fits the ones before it.
///
/// It reports what a replica tolerates, too, and the first fault of each feed; later records of that feed are not checked.
/// Memory grows with the feeds that exist, not with the number of records. Not thread-safe.
public final class ChangesetVerifier {
  let options: VerificationOptions
  let decoder = ChangesetDecoder()
  private var partitions: [Int32: PartitionVerifier] = [:]
  /// What was verified so far; feeds are counted by `finish`.
  public internal(set) var counts = VerificationCounts()

  public init(_ options: VerificationOptions) {
    self.options = options
  }

  /// Takes the next record of a partition.
  ///
  /// - Returns: the faults that it shows.
  public func check(_ record: VerifiedRecord, in partition: Int32) -> [VerificationFault] {
    if let known = partitions[partition] { return known.check(record) }
    let verifier = PartitionVerifier(self)
    partitions[partition] = verifier
    return verifier.check(record)
  }

  /// Says that there is nothing more.
  ///
  /// - Returns: the faults that only the end shows.
  public func finish() -> [VerificationFault] {
    counts.feeds = 0
    return partitions.sorted { $0.key < $1.key }.flatMap { $0.value.finish() }
  }
}

/// What changesets are verified against.
public struct VerificationOptions: Sendable, Equatable {
  /// The settings with which they were written.
  public var keyframes: KeyframePolicy
  public var output: OutputOptions
  /// Whether older records may be gone, as in a compacted topic: a gap is then a fault only if no later reload
  /// closes it. `through` may then begin again for an input topic, as it does after input that was lost.
  public var mayBeCompacted: Bool
  /// Whether the header `feedstore.plan` must stand wherever a plan was weighed. A topic may still hold changesets of
  /// versions that did not write it.
  public var requiresPlans = true

  public init(keyframes: KeyframePolicy, output: OutputOptions, mayBeCompacted: Bool = false) {
    self.keyframes = keyframes
    self.output = output
    self.mayBeCompacted = mayBeCompacted
  }
}

/// What was verified, in numbers.
public struct VerificationCounts: Sendable, Equatable {
  public var records = 0
  /// Bytes of keys and values.
  public var bytes = 0
  public var nulls = 0
  /// Changesets, each counted once however many parts it has; keyframes are not among them.
  public var changesets: [ChangesetMode: Int] = [:]
  public var keyframes = 0
  /// Records of feeds of which a fault is known already: they were not looked at.
  public var recordsPassedOver = 0
  /// Feeds with a fault.
  public var faultyFeeds = 0
  /// Feeds that are there at the end, those with a fault not counted.
  public var feeds = 0

  public init() {}
}

/// What is wrong with a feed's records: the first thing, and where.
public struct VerificationFault: Error, Sendable, Equatable {
  /// The feed's id; nil for a record that names none.
  public let feed: String?
  public let place: VerificationPlace
  /// What was found and what was expected.
  public let message: String
}

/// Where a record stands, in the caller's numbers: they are handed back with what is found there.
public struct VerificationPlace: Sendable, Equatable {
  /// Which file, or which partition.
  public var source: Int
  /// Its line, or its offset.
  public var position: Int64

  public init(source: Int, position: Int64) {
    self.source = source
    self.position = position
  }
}

/// A record of the changesets topic that is to be verified. Its bytes stay the caller's.
public struct VerifiedRecord {
  public var key: ByteSpan?
  /// Nil for a Kafka null.
  public var value: ByteSpan?
  /// Names and values by turns; nil is a null.
  public var headers: [ByteSpan?]
  /// Milliseconds since 1970; nil where a broker may have set another time.
  public var timestamp: Int64?
  public var place: VerificationPlace

  public init(
    key: ByteSpan?,
    value: ByteSpan?,
    headers: [ByteSpan?],
    timestamp: Int64?,
    place: VerificationPlace
  ) {
    self.key = key
    self.value = value
    self.headers = headers
    self.timestamp = timestamp
    self.place = place
  }
}

/// A rule of the protocol that a record breaks: what was found and what was expected. What a replica finds is one, too.
typealias Violation = ReplicaFault

/// Requires what a rule says of a record; the closure tells what was found and what was expected.
func require(_ isRight: Bool, _ violation: () -> String) throws(Violation) {
  if !isRight { throw Violation(violation()) }
}
