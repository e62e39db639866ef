/// What a worker commits with each offset, as text:
/// `changesets=OFFSET partitions=COUNT forgotten=OFFSET member=ID producer=ID`. Any part may be missing.
///
/// While a partition has sections with an order or a bound it is `changesets=MAX end=OFFSET …`: builds before protocol 1.1, which
/// would lose both, then find the changesets cut, and stop the partition instead of serving it.
package struct CommitMetadata: Equatable {
  /// Who has committed.
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

  /// The changesets partition reaches at least to this offset.
  package var changesetsEnd: Int64?
  /// Whether the partition has sections with an order or a bound.
  package var hasSettings = false
  /// How many partitions the inputs have.
  package var partitions: Int32?
  /// Feeds may say that they have taken records up to this offset of a topic whose offsets have begun again since.
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
  /// Reads what was committed; ignores the metadata of other programs.
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

/// Where partitions of the changesets topic end, as far as this worker knows.
///
/// The end is committed with the input's offsets, and the worker that restores the feeds next does not believe a broker
/// that reports an earlier one. A former leader that was cut off and still answers would make it restore feeds as
/// they were before the input that the offsets stand for.
///
/// A lower bound: others may write to the partition, for example a transaction that is aborted. It is never before a
/// record that this worker has published, since ``correct(_:to:)`` takes over the offsets that brokers report.
package struct ChangesetEnds: Equatable {
  private var ends: [Int32: Int64] = [:]
  /// Records of the open transaction.
  private var pending: [Int32: Int64] = [:]

  /// A partition was found to reach to an offset.
  package mutating func note(_ end: Int64, of partition: Int32) { ends[partition] = end }

  /// A record was queued for a partition.
  package mutating func add(to partition: Int32) { pending[partition, default: 0] += 1 }

  /// A broker reports the end of the open transaction's records in a partition.
  ///
  /// - Returns: whether it is behind the end that follows from counting them.
  package mutating func correct(_ partition: Int32, to end: Int64) -> Bool {
    guard let count = pending[partition], end > ends[partition, default: 0] + count else { return false }
    ends[partition] = end - count
    return true
  }

  /// The partitions in which the open transaction has records.
  package var written: [Int32] { Array(pending.keys) }

  /// The transaction was committed: behind its records, each partition has a marker.
  package mutating func commit() {
    for (partition, count) in pending {
      if let end = ends[partition] { ends[partition] = end + count + 1 }
    }
    pending = [:]
  }

  /// The transaction was aborted, or it is not known what became of it.
  package mutating func discard() { pending = [:] }

  /// How far a partition reaches at least; nil if nothing is known. What lies between it and the true end is either of aborted
  /// transactions, or of the last ones that were committed.
  package func end(of partition: Int32) -> Int64? { ends[partition] }

  /// The same if the open transaction is committed.
  package func endIfCommitted(of partition: Int32) -> Int64? {
    ends[partition].map { $0 + pending[partition, default: 0] }
  }
}
