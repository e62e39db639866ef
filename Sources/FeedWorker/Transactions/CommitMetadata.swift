/// What a worker commits with each offset, as text:
/// `changesets=OFFSET partitions=COUNT forgotten=OFFSET member=ID producer=ID`. Any part may be missing.
struct CommitMetadata: Equatable {
  /// Who has committed.
  struct Author: Hashable {
    /// The worker's id in the group.
    var member: String
    /// Its `transactional.id`.
    var producer: String
  }

  /// The changesets partition reaches at least to this offset.
  var changesetsEnd: Int64?
  /// How many partitions the inputs have.
  var partitions: Int32?
  /// Feeds may say that they have taken records up to this offset of a topic whose offsets have begun again since.
  var forgotten: Int64?
  var author: Author?

  /// Brokers accept 4096 bytes by default.
  private static let mostAuthorBytes = 1_000
  private static let end = "changesets="
  private static let count = "partitions="
  private static let forgotten = "forgotten="
  private static let member = "member="
  private static let producer = " producer="

  init(changesetsEnd: Int64?, partitions: Int32? = nil, forgotten: Int64? = nil, author: Author?) {
    self.changesetsEnd = changesetsEnd
    self.partitions = partitions
    self.forgotten = forgotten
    self.author = author
  }

  /// Reads what was committed; nothing if it is somebody else's.
  init(_ text: String) {
    var rest = text[...]
    changesetsEnd = Self.takeNumber(Self.end, from: &rest)
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

  var text: String {
    var parts: [String] = []
    if let changesetsEnd { parts.append(Self.end + String(changesetsEnd)) }
    if let partitions { parts.append(Self.count + String(partitions)) }
    if let forgotten { parts.append(Self.forgotten + String(forgotten)) }
    if let author {
      let text = Self.member + author.member + Self.producer + author.producer
      if text.utf8.count <= Self.mostAuthorBytes { parts.append(text) }
    }
    return parts.joined(separator: " ")
  }
}
