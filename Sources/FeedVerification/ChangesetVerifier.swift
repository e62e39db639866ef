/// Checks records of the changesets topic against the protocol: that they are spelled, numbered and ordered as
/// it says, that each changeset fits what came before, and that the topic stays as small as it promises.
///
/// What a replica tolerates is a fault here. Of each feed the first fault is reported; what comes after it is
/// not looked at. Memory follows the feeds that are there, not the number of records. Not thread-safe.
public final class ChangesetVerifier {
  private let options: VerificationOptions
  private let decoder = ChangesetDecoder()
  private var partitions: [Int32: PartitionVerifier] = [:]

  public init(_ options: VerificationOptions) {
    self.options = options
  }

  /// Takes the next record of a partition.
  ///
  /// - Returns: the faults that it shows.
  public func check(_ record: VerifiedRecord, in partition: Int32) -> [VerificationFault] {
    if let known = partitions[partition] { return known.check(record) }
    let verifier = PartitionVerifier(options, decoder: decoder)
    partitions[partition] = verifier
    return verifier.check(record)
  }

  /// Whether a changeset of a partition, its keyframe or its nulls are not complete yet.
  public func awaitsMore(in partition: Int32) -> Bool { partitions[partition]?.awaitsMore ?? false }

  /// Says that there is nothing more.
  ///
  /// - Returns: the faults that only the end shows.
  public func finish() -> [VerificationFault] {
    partitions.sorted { $0.key < $1.key }.flatMap { $0.value.finish() }
  }

  /// What was verified so far; feeds are counted by `finish`.
  public var counts: VerificationCounts {
    partitions.values.reduce(into: VerificationCounts()) { $0.add($1.counts) }
  }
}
