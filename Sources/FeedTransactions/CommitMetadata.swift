/// The metadata that a worker commits with each offset, as text:
/// `changesets=OFFSET partitions=COUNT forgotten=OFFSET member=ID producer=ID`. Any part may be missing.
///
/// If a partition has sections with an order or a bound, the text is `changesets=MAX end=OFFSET …`: builds before protocol 1.1,
/// which would lose both, then find the changesets cut, and stop the partition instead of serving it.
package struct CommitMetadata: Equatable {
  /// The worker that has committed.
  package struct Author: Hashable {
    /// The worker's id in the group.
    package var member: String
    /// Its `transactional.id`.
    package var producer: String

    package init(member: String, producer: String) {
      self.member = member
      self.producer = producer
    }
  }

  /// A lower bound of the end of the changesets partition.
  package var changesetsEnd: Int64?
  /// Whether the partition has sections with an order or a bound.
  package var hasSettings = false
  /// The number of partitions of the inputs.
  package var partitions: Int32?
  /// The topic's offsets have started over; feeds may still claim to have taken records up to this earlier offset.
  package var forgotten: Int64?
  package var author: Author?

  package init(
    changesetsEnd: Int64? = nil,
    hasSettings: Bool = false,
    partitions: Int32? = nil,
    forgotten: Int64? = nil,
    author: Author? = nil
  ) {
    self.changesetsEnd = changesetsEnd
    self.hasSettings = hasSettings
    self.partitions = partitions
    self.forgotten = forgotten
    self.author = author
  }

  /// Brokers accept 4096 bytes by default.
  private static let mostAuthorBytes = 1_000
  private static let end = "changesets="
  private static let endWithSettings = "end="
  private static let count = "partitions="
  private static let forgotten = "forgotten="
  private static let member = "member="
  private static let producer = " producer="

  package var text: String {
    var parts: [String] = []
    if let changesetsEnd {
      parts.append(Self.end + String(hasSettings ? .max : changesetsEnd))
      if hasSettings { parts.append(Self.endWithSettings + String(changesetsEnd)) }
    }
    if let partitions { parts.append(Self.count + String(partitions)) }
    if let forgotten { parts.append(Self.forgotten + String(forgotten)) }
    if let author {
      let text = Self.member + author.member + Self.producer + author.producer
      if text.utf8.count <= Self.mostAuthorBytes { parts.append(text) }
    }
    return parts.joined(separator: " ")
  }
}

extension CommitMetadata {
  /// Reads committed metadata; ignores the metadata of other programs.
  package init(_ text: String) {
    var rest = text[...]
    changesetsEnd = Self.takeNumber(Self.end, from: &rest)
    if let end = Self.takeNumber(Self.endWithSettings, from: &rest) {
      changesetsEnd = end
      hasSettings = true
    }
    partitions = Self.takeNumber(Self.count, from: &rest).flatMap { Int32(exactly: $0) }
    forgotten = Self.takeNumber(Self.forgotten, from: &rest)
    guard rest.hasPrefix(Self.member), let producer = rest.firstRange(of: Self.producer) else { return }
    let member = rest[..<producer.lowerBound].dropFirst(Self.member.count)
    guard !member.isEmpty, producer.upperBound < rest.endIndex else { return }
    author = Author(member: String(member), producer: String(rest[producer.upperBound...]))
  }

  private static func takeNumber(_ name: String, from rest: inout Substring) -> Int64? {
    guard rest.hasPrefix(name) else { return nil }
    let digits = rest.dropFirst(name.count).prefix { $0 != " " }
    rest = rest[digits.endIndex...].drop { $0 == " " }
    return Int64(digits)
  }
}

/// The known ends of the changesets topic's partitions.
///
/// The worker commits the ends with the input's offsets. The worker that restores the feeds next rejects an
/// earlier end: a former leader that was cut off and still answers would make it restore feeds from before
/// the committed input.
///
/// Each end is a lower bound: others may write to the partition, as aborted transactions do. It is never
/// before a record of this worker, because ``correct(_:to:)`` adopts the offsets that brokers report.
package struct ChangesetEnds: Equatable {
  private var ends: [Int32: Int64] = [:]
  /// The numbers of records of the open transaction.
  private var pending: [Int32: Int64] = [:]

  /// Sets the end of a partition.
  package mutating func note(_ end: Int64, of partition: Int32) { ends[partition] = end }

  /// Counts a record that was queued for a partition.
  package mutating func add(to partition: Int32) { pending[partition, default: 0] += 1 }

  /// Adopts the end that a broker reports for the open transaction's records in a partition.
  ///
  /// - Returns: whether the reported end is after the counted one.
  package mutating func correct(_ partition: Int32, to end: Int64) -> Bool {
    guard let count = pending[partition], end > ends[partition, default: 0] + count else { return false }
    ends[partition] = end - count
    return true
  }

  /// The partitions in which the open transaction has records.
  package var written: [Int32] { Array(pending.keys) }

  /// Handles a commit: a marker follows the transaction's records in each partition.
  package mutating func commit() {
    for (partition, count) in pending {
      if let end = ends[partition] { ends[partition] = end + count + 1 }
    }
    pending = [:]
  }

  /// Handles a transaction that was aborted or has an unknown outcome.
  package mutating func discard() { pending = [:] }

  /// A lower bound of a partition's end; nil if unknown. Records between it and the true end belong to
  /// aborted transactions or to the last committed ones.
  package func end(of partition: Int32) -> Int64? { ends[partition] }

  /// The same bound after a commit of the open transaction.
  package func endIfCommitted(of partition: Int32) -> Int64? {
    ends[partition].map { $0 + pending[partition, default: 0] }
  }
}
