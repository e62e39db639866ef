import Feed

/// Checks the form of a changeset record, independent of earlier records.
struct ChangesetForm {
  let record: DecodedChangeset
  /// The fields that all parts of a changeset share.
  let head: ChangesetHead
  /// The lists of a difference; they point into the record.
  let entries: DecodedEntries
  /// The plan in the record's header.
  var plan: ChangesetPlan?
  /// Whether it may result from contents alone, without a newer record of the feed.
  var hasContents = false

  /// - Parameters:
  ///   - record: must stay valid as long as this value is used.
  ///   - mayForget: whether `through` may lack records that were taken.
  init(_ record: DecodedChangeset, mayForget: Bool) throws(Violation) {
    self.record = record
    guard let time = TimestampFormat.milliseconds(record.time) else {
      throw Violation(
        "the time is \(record.time.quotedForMessage()), expected one like \"2026-11-20T10:00:00.250Z\""
      )
    }
    var through: [TopicOffset] = []
    record.takeThrough(to: &through)
    try ChangesetForm.checkMode(record)
    try ChangesetForm.checkRevision(record)
    try ChangesetForm.checkThrough(through, epoch: record.epoch, mayForget: mayForget)
    head = ChangesetHead(record, time: time, through: through)
    var entries = DecodedEntries()
    if record.mode == .diff || record.mode == .reconfigure {
      try entries.append(record)
    }
    self.entries = entries
  }

  /// The number of bytes of a reload's head with a reason, if a reload replaced this changeset.
  func reloadHeadBytes(_ reason: ReloadReason) -> Int {
    var head = head
    head.base = reason == .keyframe ? head.revision : head.revision - 1
    head.mode = .reload
    head.reason = reason
    return head.byteCount(scratch: ByteWriter(capacity: 1024))
  }

  var hasEntries: Bool { !EntryList.filled(of: entries).isEmpty }

  var isKeyframe: Bool { record.reason == .keyframe }

  var name: String {
    let part = record.parts > 1 ? ", part \(record.part) of \(record.parts)" : ""
    return (isKeyframe ? "the keyframe of revision " : "revision ") + "\(record.revision)\(part)"
  }

  // MARK: Fields

  private static func checkRevision(_ record: DecodedChangeset) throws(Violation) {
    try require(record.revision > 0) { "the revision is 0; revisions count from 1" }
    let base = record.reason == .keyframe ? record.revision : record.revision - 1
    try require(record.base == base) {
      "the base of revision \(record.revision) is \(record.base), expected \(base)"
    }
    try require((base == 0) == (record.reason == .initial)) {
      base == 0
        ? "revision 1 has mode \"\(describe(record))\", expected a reload with reason \"initial\""
        : "revision \(record.revision) has reason \"initial\", which only revision 1 has"
    }
  }

  private static func describe(_ record: DecodedChangeset) -> String {
    record.mode.rawValue + (record.reason.map { "\" and reason \"\($0.rawValue)" } ?? "")
  }

  private static func checkMode(_ record: DecodedChangeset) throws(Violation) {
    try require((record.mode == .reload) == (record.reason != nil)) {
      record.reason == nil
        ? "a reload has no reason of the protocol, version 1.0"
        : "mode \"\(record.mode.rawValue)\" has a reason; only reloads have one"
    }
    try require(record.mode != .delete || record.checksum == 0) {
      "the checksum of a deletion is \(Replica.hexadecimal(record.checksum)), expected 00000000"
    }
    try require(record.mode != .delete || record.parts == 1) { "a deletion has parts" }
  }

  private static func checkThrough(
    _ through: [TopicOffset],
    epoch: ByteSpan,
    mayForget: Bool
  ) throws(Violation) {
    for (one, other) in zip(through, through.dropFirst())
    where !one.topic.lexicographicallyPrecedes(other.topic) {
      throw Violation("through is not sorted: \"\(one.name)\" precedes \"\(other.name)\"")
    }
    // The topic, since version 1.0.1 the time, and the offset.
    let parts = epoch.text.split(separator: "/", omittingEmptySubsequences: false)
    let names = parts[0].split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, names.count <= 2, let offset = Int64(parts[1]), offset >= 0,
      parts[1] == "\(offset)", !names[0].isEmpty,
      names.count == 1 || Int64(names[1]).map(String.init) == String(names[1])
    else {
      throw Violation(
        "the epoch is \(epoch.quotedForMessage()), expected a topic, milliseconds and an offset: \"topic:0/0\""
      )
    }
    if mayForget { return }
    guard let newest = through.offset(Array(names[0].utf8)), newest >= offset else {
      throw Violation(
        "through does not reach the record that the epoch \(epoch.quotedForMessage()) names"
      )
    }
  }
}

extension TopicOffset {
  var name: String { String(decoding: topic, as: UTF8.self) }
}

/// Decodes changeset records and checks their form. It reuses its memory for each record.
final class ChangesetDecoder {
  private let indexer = JSONIndexer()
  /// For the earlier parts of a changeset, while the other indexer holds the last one; created on demand.
  private lazy var partIndexer = JSONIndexer()
  private let arena = ScratchArena()

  /// The result is valid until the next call, as long as the value's bytes are.
  ///
  /// - Parameter mayForget: whether `through` may lack records that were taken.
  func decode(_ value: ByteSpan, mayForget: Bool) throws(Violation) -> ChangesetForm {
    arena.reset()
    return try ChangesetForm(DecodedChangeset(value, indexer, arena: arena), mayForget: mayForget)
  }

  /// Adds the lists of an earlier part, whose form was checked; they point to its bytes.
  func append(_ part: ByteSpan, to entries: inout DecodedEntries) throws(Violation) {
    try entries.append(DecodedChangeset(part, partIndexer, arena: arena))
  }
}
