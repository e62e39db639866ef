import Foundation

@testable import Oracle

/// The log of the vector `following`, with every kind of damage that a follower must detect or tolerate.
struct DamagedLogs {
  let log: ChangesetLog
  /// Positions in the log by epoch, revision and part of the feed `news`, and whether they belong to a keyframe.
  private var places: [String: Int] = [:]

  init(_ log: ChangesetLog) {
    self.log = log
    for (place, line) in log.lines.enumerated() {
      guard let value = line.value, let json = try? OracleJSON.parse(value), Self.text(json, "feed") == "news"
      else {
        continue
      }
      let keyframe = Self.text(json, "reason") == "keyframe" ? "keyframe" : ""
      places[
        "\(Self.text(json, "epoch"))@\(Self.text(json, "revision"))/\(keyframe)\(Self.text(json, "part", "0"))"
      ] =
        place
    }
  }

  private static func text(_ json: OracleJSON, _ name: String, _ absent: String = "") -> String {
    guard let value = json.last(name) else { return absent }
    return String(decoding: value.string ?? value.minified, as: UTF8.self)
  }

  /// The position of a record of the first epoch.
  func place(_ name: String) throws(JudgeFailure) -> Int {
    guard let place = places["feeds.items:0/0@\(name)"] else {
      throw JudgeFailure("the log has no record \(name); it has \(places.keys.sorted())")
    }
    return place
  }

  func vectors() throws(JudgeFailure) -> [ReplicaVector] {
    try lost() + twice() + parts() + stale() + malformed() + wrong() + later() + small()
  }

  func vector(
    _ name: String,
    _ title: String,
    _ sections: [String],
    _ log: ChangesetLog
  ) -> ReplicaVector {
    ReplicaVector("damaged-\(name)", title, sections, log)
  }

  /// What is replaced in a record, and by what.
  struct Edit {
    let name: String
    let place: String
    let title: String
    let old: String
    let new: String
  }

  /// Edits from text, two lines each: name, record and title, and then the texts.
  static func edits(_ table: String) -> [Edit] {
    let rows = table.split(separator: "\n").map { row in
      row.split(whereSeparator: { $0 == "|" || $0 == "→" }).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
    }
    return stride(from: 0, to: rows.count, by: 2).map { row in
      let (head, texts) = (rows[row], rows[row + 1])
      return Edit(
        name: head[0],
        place: head[1],
        title: head[2],
        old: texts[0],
        new: texts.count > 1 ? texts[1] : ""
      )
    }
  }

  // MARK: - Missing records

  private func lost() throws(JudgeFailure) -> [ReplicaVector] {
    let initial = try place("1/0")
    let second = try place("2/0")
    let third = try place("3/0")
    let reload = try place("5/0")
    let split = try place("7/0")
    let keyframe = try place("8/keyframe0")
    let end = try place("11/0")
    let nulls = log.lines.indices.filter { log.lines[$0].value == nil }
    func without(_ gone: [Int]) -> ChangesetLog {
      log.reading(log.lines.indices.filter { !gone.contains($0) })
    }
    return [
      vector("lost-reload", "the first reload is missing", ["11.3"], log.without(initial)),
      vector("lost-delta", "a delta is missing: a gap, until the next reload", ["11.3"], log.without(second)),
      vector("lost-first-part", "the first part of a difference is missing", ["11.4"], log.without(split)),
      vector("lost-last-part", "the last part of a difference is missing", ["11.4"], log.without(split + 1)),
      vector(
        "lost-first-part-of-reload",
        "the first part of a reload is missing",
        ["11.4"],
        log.without(reload)
      ),
      vector(
        "lost-last-part-of-reload",
        "the last part of a reload is missing",
        ["11.4"],
        log.without(reload + 1)
      ),
      vector(
        "lost-part-of-keyframe",
        "a part of a keyframe is missing: nobody needs it",
        ["11.3"],
        log.without(keyframe)
      ),
      vector(
        "lost-deletion",
        "the deletion is missing: the null under k0 removes the feed",
        ["11.3"],
        log.without(end)
      ),
      vector("lost-nulls", "the nulls of the deletion are missing", ["11.3"], without(nulls)),
      vector(
        "lost-lives",
        "a life ended and another began unseen: first its delta, then nothing",
        ["11.3"],
        without(Array(third...(nulls.last ?? 0) + 1))
      ),
      vector(
        "lost-life",
        "the end of a life that was never seen, over one that was",
        ["11.3"],
        ChangesetLog(
          log.lines.prefix(third) + [Self.deletion(of: log.lines[end])]
        )
      ),
      vector(
        "begun-late",
        "the head of the log is gone",
        ["11.3"],
        log.reading(Array(third..<log.lines.count))
      ),
      vector(
        "ends-within-parts",
        "the log ends within a changeset",
        ["11.4", "11.8"],
        log.reading(Array(0...split))
      ),
    ]
  }

  /// The same deletion in another epoch.
  private static func deletion(of line: ChangesetLog.Line) -> ChangesetLog.Line {
    var line = line
    let text = String(decoding: line.value ?? [], as: UTF8.self)
    line.value = Array(text.split(separator: "feeds.items:0/0").joined(separator: "feeds.items:0/7").utf8)
    return line
  }

  // MARK: - Repeated and reordered records

  private func twice() throws(JudgeFailure) -> [ReplicaVector] {
    let second = try place("2/0")
    let reload = try place("5/0")
    let split = try place("7/0")
    let end = try place("11/0")
    func order(_ places: [Int]) -> ChangesetLog { log.reading(places) }
    let all = Array(log.lines.indices)
    return [
      vector("swapped-deltas", "two deltas in the wrong order", ["11.3"], log.swapping(second, second + 1)),
      vector(
        "swapped-parts",
        "two parts of a difference in the wrong order",
        ["11.4"],
        log.swapping(split, split + 1)
      ),
      vector(
        "twice-delta",
        "a delta comes twice",
        ["11.3"],
        order(Array(0...second) + Array(second..<all.count))
      ),
      vector(
        "twice-first-part",
        "a first part comes twice",
        ["11.4"],
        order(Array(0...split) + Array(split..<all.count))
      ),
      vector(
        "twice-reload",
        "a reload comes twice",
        ["11.3"],
        order(Array(0...reload + 1) + Array(reload..<all.count))
      ),
      vector("twice-all", "a follower goes back to the beginning", ["11.3"], order(Array(0..<end) + all)),
      vector(
        "interrupted-parts",
        "a changeset whose first part came is interrupted by a reload",
        ["11.4"],
        order(Array(0...split) + [reload, reload + 1] + Array((split + 2)..<all.count))
      ),
    ]
  }

  // MARK: - Parts and stale feeds

  /// A second part with another head.
  private func parts() throws(JudgeFailure) -> [ReplicaVector] {
    let reload = try place("5/0") + 1
    let split = try place("7/0") + 1
    func other(_ name: String, _ text: String, _ other: String, at: Int) throws(JudgeFailure) -> ReplicaVector
    {
      vector(
        "parts-\(name)",
        "the second part has another \(name)",
        ["11.4"],
        try log.replacing(text, with: other, at: at)
      )
    }
    return [
      try other("epoch", "feeds.items:0/0", "feeds.items:0/7", at: reload),
      try other("revision", "\"revision\":5", "\"revision\":6", at: reload),
      try other("reason", "\"requested\"", "\"bytes\"", at: reload),
      try other("count", "\"parts\":2", "\"parts\":3", at: reload),
      try other("checksum", "\"0fbb3901\"", "\"0fbb3902\"", at: reload),
      try other("mode", "\"mode\":\"diff\"", "\"mode\":\"reconfigure\"", at: split),
      vector(
        "parts-ignored-between",
        "an old difference between two parts is ignored, and the parts are kept",
        ["11.3", "11.4"],
        log.reading(Array(0..<split) + [split - 2] + Array(split..<log.lines.count))
      ),
      vector(
        "parts-dropped",
        "a difference between two parts of a reload drops the first, so the second makes the feed stale",
        ["11.4"],
        log.reading([0, 2, 3, 5, 4, 6, 7, 12, 13, 14, 15])
      ),
      vector(
        "parts-without-first",
        "a later part of a newer reload: stale, so the next difference is not applied",
        ["11.4"],
        log.reading([0, 2, 3, 6, 4, 12, 13, 14, 15])
      ),
    ]
  }

  /// What ends being stale, and what does not.
  private func stale() throws(JudgeFailure) -> [ReplicaVector] {
    let nulls = try place("11/0") + 1
    let deletion = log.lines[nulls - 1]
    func reading(_ places: [Int], _ more: [ChangesetLog.Line]) -> ChangesetLog {
      ChangesetLog(log.reading(places).lines + more)
    }
    return [
      vector(
        "stale-null-d",
        "a difference without a state, and a null under a delta's key: the feed is forgotten",
        ["11.3"],
        log.reading([3, nulls + 3])
      ),
      vector(
        "stale-null-k1",
        "a difference without a state, and a null under k1, which says nothing",
        ["11.3"],
        log.reading([3, nulls + 1, nulls])
      ),
      vector(
        "stale-delete",
        "a difference without a state, and a deletion: the feed is forgotten",
        ["11.3"],
        reading([3], [deletion])
      ),
      vector(
        "stale-older-reload",
        "a gap, and a reload that is older than the state: ignored",
        ["11.3"],
        log.reading([0, 2, 4, 0, 3, 5, 6, 7])
      ),
      vector(
        "stale-by-deletion",
        "a deletion of another epoch: stale, so the next difference is not applied",
        ["11.3"],
        ChangesetLog(
          log.reading([0, 2]).lines + [Self.deletion(of: deletion)] + log.reading([3, 5, 6]).lines
        )
      ),
    ]
  }

  // MARK: - Extensions of later versions, and recovery

  private func later() throws(JudgeFailure) -> [ReplicaVector] {
    let reload = try place("5/0")
    var extended = try log.replacing("\"requested\"", with: "\"a-new-reason\"", at: reload)
    extended = try extended.replacing("\"requested\"", with: "\"a-new-reason\"", at: reload + 1)
    for place in extended.lines.indices where extended.lines[place].value != nil {
      let text = String(decoding: extended.lines[place].value ?? [], as: UTF8.self)
      let entries = text.split(separator: "{\"id\":").joined(separator: "{\"new\":[1,{\"x\":null}],\"id\":")
      extended.lines[place].value = Array(("{\"later\":{\"parts\":7}," + entries.dropFirst()).utf8)
    }
    var spaced = log
    for place in spaced.lines.indices where spaced.lines[place].value != nil {
      let text = String(decoding: spaced.lines[place].value ?? [], as: UTF8.self)
      spaced.lines[place].value = Array(
        (" \r\n" + text.split(separator: ",\"").joined(separator: " ,\t\"") + "\n").utf8
      )
    }
    // A replica that is wrong without noticing: both the kind and the checksum of a difference are changed.
    let kind = try place("4/0")
    var feed = OracleFollower()
    for line in log.lines[...kind] {
      _ = feed.take(partition: line.partition, key: line.key, value: line.value)
    }
    let news = OracleFeedKey(partition: 0, id: Array("news".utf8))
    guard var state = feed.replicas[news]?.state, let location = state.location(of: Array("d".utf8)) else {
      throw JudgeFailure("the feed has no item d")
    }
    let right = OracleChecksum.text(OracleChecksum.of(state))
    state.sections[location.section].items[location.index].kind = Array("job".utf8)
    let other = OracleChecksum.text(OracleChecksum.of(state))
    var healed = try log.replacing("\"kind\":\"ad\"", with: "\"kind\":\"job\"", at: kind)
    healed = try healed.replacing(right, with: other, at: kind)
    healed.lines.removeSubrange((kind + 1)..<reload)
    let keyframe = [reload, reload + 1].map { place in
      var line = log.lines[place]
      let text = String(decoding: line.value ?? [], as: UTF8.self)
      let revision = text.split(separator: "\"revision\":5").joined(separator: "\"revision\":4")
      line.value = Array(revision.split(separator: "\"requested\"").joined(separator: "\"keyframe\"").utf8)
      return line
    }
    healed.lines.insert(contentsOf: keyframe, at: kind + 1)
    return [
      vector(
        "not-later",
        "unknown fields everywhere, and an unknown reason: nothing is wrong",
        ["12.2"],
        extended
      ),
      vector("not-spaced", "white space between tokens: nothing is wrong", ["11.7"], spaced),
      vector(
        "not-healed",
        "a reload of the replica's revision with another checksum: the replica was wrong",
        ["11.3"],
        healed
      ),
    ]
  }
}
