/// The metadata that a worker commits with each offset, as text:
/// `changesets=OFFSET partitions=COUNT forgotten=OFFSET contents=PARTITION:OFFSET,… member=ID producer=ID`. Any part may be
/// missing.
///
/// If a partition has sections with an order or a bound, the text is `changesets=MAX end=OFFSET …`: builds before protocol 1.1,
/// which would lose both, then find the changesets cut, and stop the partition instead of serving it. If it has items that end,
/// sections with a time to live, or maybe items with references, the text is `changesets=MAX ends=OFFSET …`, for builds before
/// protocol 1.2.
struct CommitMetadata: Equatable {
  /// The worker that has committed.
  struct Author: Hashable {
    /// The worker's id in the group.
    var member: String
    /// Its `transactional.id`.
    var producer: String
  }

  /// A lower bound of the end of the changesets partition.
  var changesetsEnd: Int64?
  /// Whether the partition has sections with an order or a bound.
  var hasSettings = false
  /// Whether the partition has items that end, or may have items with references.
  var hasEnds = false
  /// The number of partitions of the inputs.
  var partitions: Int32?
  /// The topic's offsets have started over; feeds may still claim to have taken records up to this earlier offset.
  var forgotten: Int64?
  /// For each partition of the contents topic, the newest record that the worker has read.
  var contents: [Int32: Int64] = [:]
  var author: Author?

  /// Brokers accept 4096 bytes by default.
  private static let mostAuthorBytes = 1_000
  private static let mostContentsBytes = 1_000
  private static let end = "changesets="
  private static let endWithSettings = "end="
  private static let endWithEnds = "ends="
  private static let count = "partitions="
  private static let forgotten = "forgotten="
  private static let contents = "contents="
  private static let member = "member="
  private static let producer = " producer="

  var text: String {
    var parts: [String] = []
    if let changesetsEnd {
      parts.append(Self.end + String(hasSettings || hasEnds ? .max : changesetsEnd))
      if hasSettings || hasEnds {
        parts.append((hasEnds ? Self.endWithEnds : Self.endWithSettings) + String(changesetsEnd))
      }
    }
    if let partitions { parts.append(Self.count + String(partitions)) }
    if let forgotten { parts.append(Self.forgotten + String(forgotten)) }
    if !contents.isEmpty {
      let offsets = contents.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: ",")
      if offsets.utf8.count <= Self.mostContentsBytes { parts.append(Self.contents + offsets) }
    }
    if let author {
      let text = Self.member + author.member + Self.producer + author.producer
      if text.utf8.count <= Self.mostAuthorBytes { parts.append(text) }
    }
    return parts.joined(separator: " ")
  }
}

extension CommitMetadata {
  /// Reads committed metadata; ignores the metadata of other programs.
  init(_ text: String) {
    var rest = text[...]
    changesetsEnd = Self.takeNumber(Self.end, from: &rest)
    if let end = Self.takeNumber(Self.endWithSettings, from: &rest) {
      changesetsEnd = end
      hasSettings = true
    } else if let end = Self.takeNumber(Self.endWithEnds, from: &rest) {
      changesetsEnd = end
      hasEnds = true
    }
    partitions = Self.takeNumber(Self.count, from: &rest).flatMap { Int32(exactly: $0) }
    forgotten = Self.takeNumber(Self.forgotten, from: &rest)
    for place in Self.takeText(Self.contents, from: &rest)?.split(separator: ",") ?? [] {
      let numbers = place.split(separator: ":").map { Int64($0) }
      guard numbers.count == 2, let partition = numbers[0].flatMap(Int32.init(exactly:)) else { continue }
      contents[partition] = numbers[1]
    }
    guard rest.hasPrefix(Self.member), let producer = rest.firstRange(of: Self.producer) else { return }
    let member = rest[..<producer.lowerBound].dropFirst(Self.member.count)
    guard !member.isEmpty, producer.upperBound < rest.endIndex else { return }
    author = Author(member: String(member), producer: String(rest[producer.upperBound...]))
  }

  private static func takeNumber(_ name: String, from rest: inout Substring) -> Int64? {
    takeText(name, from: &rest).flatMap { Int64($0) }
  }

  private static func takeText(_ name: String, from rest: inout Substring) -> Substring? {
    guard rest.hasPrefix(name) else { return nil }
    let text = rest.dropFirst(name.count).prefix { $0 != " " }
    rest = rest[text.endIndex...].drop { $0 == " " }
    return text
  }
}
