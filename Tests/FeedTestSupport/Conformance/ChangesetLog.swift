/// Records of the changesets topic in the order in which a follower reads them.
public struct ChangesetLog: Sendable {
  public struct Line: Sendable {
    public var partition: Int
    /// The record's offset in the original log.
    public var offset: Int
    public var key: [UInt8]
    public var value: [UInt8]?
  }

  public var lines: [Line]

  init(_ lines: [Line]) { self.lines = lines }

  /// The records that a store wrote.
  public init(_ records: [JudgedRecord]) {
    var offsets: [Int: Int] = [:]
    lines = records.map { record in
      defer { offsets[record.partition, default: 0] += 1 }
      let offset = offsets[record.partition, default: 0]
      return Line(partition: record.partition, offset: offset, key: record.key, value: record.value)
    }
  }

  // MARK: - Variants of a log

  /// The log after compaction of the first `count` records: the last record of each key, optionally without nulls.
  func compacted(first count: Int, keepsNulls: Bool = true) -> ChangesetLog {
    let head = lines.prefix(count)
    var last: [[UInt8]: Int] = [:]
    for (place, line) in head.enumerated() { last[Array("\(line.partition)/".utf8) + line.key] = place }
    let kept = head.enumerated().filter { place, line in
      last[Array("\(line.partition)/".utf8) + line.key] == place && (keepsNulls || line.value != nil)
    }
    return ChangesetLog(kept.map(\.element) + lines.dropFirst(count))
  }

  /// What a follower reads that has read `read` records before the first `count` are compacted.
  func lagging(read: Int, compacted count: Int) -> ChangesetLog {
    let rest = compacted(first: count).lines.filter { line in
      lines.firstIndex { $0.partition == line.partition && $0.offset == line.offset } ?? 0 >= read
    }
    return ChangesetLog(lines.prefix(read) + rest)
  }

  /// The log without the records at these positions.
  func without(_ places: Int...) -> ChangesetLog {
    ChangesetLog(lines.enumerated().filter { !places.contains($0.offset) }.map(\.element))
  }

  func reading(_ places: [Int]) -> ChangesetLog { ChangesetLog(places.map { lines[$0] }) }

  func swapping(_ one: Int, _ other: Int) -> ChangesetLog {
    var log = self
    log.lines.swapAt(one, other)
    return log
  }

  /// The log with other text in one record's value.
  ///
  /// - Throws: ``JudgeFailure`` unless the value contains the text exactly once.
  func replacing(_ text: String, with other: String, at place: Int) throws(JudgeFailure) -> ChangesetLog {
    let value = String(decoding: lines[place].value ?? [], as: UTF8.self)
    let pieces = value.split(separator: text, omittingEmptySubsequences: false)
    guard pieces.count == 2 else {
      throw JudgeFailure("record \(place) has \(pieces.count - 1) times \(text), expected once: \(value)")
    }
    return with(value: Array(pieces.joined(separator: other).utf8), at: place)
  }

  func with(value: [UInt8]?, at place: Int) -> ChangesetLog {
    var log = self
    log.lines[place].value = value
    return log
  }

  func with(key: String, at place: Int) -> ChangesetLog {
    var log = self
    log.lines[place].key = Array(key.utf8)
    return log
  }
}
