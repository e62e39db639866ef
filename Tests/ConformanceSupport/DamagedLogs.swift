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
      guard let value = line.value, let json = try? OracleJSON.parse(value), json.text("feed") == "news"
      else {
        continue
      }
      let keyframe = json.text("reason") == "keyframe" ? "keyframe" : ""
      let revision = "\(json.text("epoch") ?? "")@\(json.text("revision") ?? "")"
      places["\(revision)/\(keyframe)\(json.text("part") ?? "0")"] = place
    }
  }

  /// The position of a record of the first epoch.
  func place(_ name: String) throws(JudgeFailure) -> Int {
    guard let place = places["feeds.items:0/0@\(name)"] else {
      throw JudgeFailure("the log has no record \(name); it has \(places.keys.sorted())")
    }
    return place
  }

  /// A damaged log, with the sections of the protocol that it covers.
  typealias Case = (name: String, sections: String, title: String, log: ChangesetLog)

  func vectors() throws(JudgeFailure) -> [ReplicaVector] {
    let cases = try lost() + twice() + parts() + stale() + malformed() + wrong() + later() + small() + rules()
    return cases.map { name, sections, title, log in
      ReplicaVector("damaged-\(name)", title, sections.split(separator: " ").map(String.init), log)
    }
  }

  /// The replaced text in a record, and its replacement.
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

  private func lost() throws(JudgeFailure) -> [Case] {
    let (first, second, third) = try (place("1/0"), place("2/0"), place("3/0"))
    let (reload, split, end) = try (place("5/0"), place("7/0"), place("11/0"))
    let nulls = log.lines.indices.filter { log.lines[$0].value == nil }
    let lives = third...(nulls.last ?? 0) + 1
    return [
      ("lost-reload", "11.3", "the first reload is missing", log.without([first])),
      ("lost-delta", "11.3", "a delta is missing: a gap, until the next reload", log.without([second])),
      ("lost-first-part", "11.4", "the first part of a difference is missing", log.without([split])),
      ("lost-last-part", "11.4", "the last part of a difference is missing", log.without([split + 1])),
      ("lost-first-part-of-reload", "11.4", "the first part of a reload is missing", log.without([reload])),
      ("lost-last-part-of-reload", "11.4", "the last part of a reload is missing", log.without([reload + 1])),
      (
        "lost-part-of-keyframe", "11.3", "a part of a keyframe is missing: nobody needs it",
        log.without([try place("8/keyframe0")])
      ),
      (
        "lost-deletion", "11.3", "the deletion is missing: the null under k0 removes the feed",
        log.without([end])
      ),
      ("lost-nulls", "11.3", "the nulls of the deletion are missing", log.without(nulls)),
      (
        "lost-lives", "11.3", "a life ended and another began unseen: first its delta, then nothing",
        log.without(lives)
      ),
      (
        "lost-life", "11.3", "the end of a life that was never seen, over one that was",
        log[..<third] + ChangesetLog([Self.deletion(of: log.lines[end])])
      ),
      ("begun-late", "11.3", "the head of the log is gone", log[third...]),
      ("ends-within-parts", "11.4 11.8", "the log ends within a changeset", log[...split]),
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

  private func twice() throws(JudgeFailure) -> [Case] {
    let (second, reload, split, end) = try (place("2/0"), place("5/0"), place("7/0"), place("11/0"))
    return [
      ("swapped-deltas", "11.3", "two deltas in the wrong order", log.swapping(second, second + 1)),
      (
        "swapped-parts", "11.4", "two parts of a difference in the wrong order",
        log.swapping(split, split + 1)
      ),
      ("twice-delta", "11.3", "a delta comes twice", log[...second] + log[second...]),
      ("twice-first-part", "11.4", "a first part comes twice", log[...split] + log[split...]),
      ("twice-reload", "11.3", "a reload comes twice", log[...(reload + 1)] + log[reload...]),
      ("twice-all", "11.3", "a follower goes back to the beginning", log[..<end] + log),
      (
        "interrupted-parts", "11.4", "a changeset whose first part came is interrupted by a reload",
        log[...split] + log[reload...(reload + 1)] + log[(split + 2)...]
      ),
    ]
  }

  // MARK: - Parts and stale feeds

  /// A second part with another head.
  private func parts() throws(JudgeFailure) -> [Case] {
    let (reload, split) = (try place("5/0") + 1, try place("7/0") + 1)
    func other(_ name: String, _ text: String, _ other: String, at: Int) throws(JudgeFailure) -> Case {
      let log = try log.replacing(text, with: other, at: at)
      return ("parts-\(name)", "11.4", "the second part has another \(name)", log)
    }
    return [
      try other("epoch", "feeds.items:0/0", "feeds.items:0/7", at: reload),
      try other("revision", "\"revision\":5", "\"revision\":6", at: reload),
      try other("reason", "\"requested\"", "\"bytes\"", at: reload),
      try other("count", "\"parts\":2", "\"parts\":3", at: reload),
      try other("checksum", "\"0fbb3901\"", "\"0fbb3902\"", at: reload),
      try other("mode", "\"mode\":\"diff\"", "\"mode\":\"reconfigure\"", at: split),
      (
        "parts-ignored-between", "11.3 11.4",
        "an old difference between two parts is ignored, and the parts are kept",
        log[..<split] + log[split - 2] + log[split...]
      ),
      (
        "parts-dropped", "11.4",
        "a difference between two parts of a reload drops the first, so the second makes the feed stale",
        log[0, 2, 3, 5, 4, 6, 7, 12, 13, 14, 15]
      ),
      (
        "parts-without-first", "11.4",
        "a later part of a newer reload: stale, so the next difference is not applied",
        log[0, 2, 3, 6, 4, 12, 13, 14, 15]
      ),
    ]
  }

  /// Records that end being stale, and records that do not.
  private func stale() throws(JudgeFailure) -> [Case] {
    let end = try place("11/0")
    return [
      (
        "stale-null-d", "11.3",
        "a difference without a state, and a null under a delta's key: the feed is forgotten",
        log[3, end + 4]
      ),
      (
        "stale-null-k1", "11.3",
        "a difference without a state, and a null under k1, which says nothing", log[3, end + 2, end + 1]
      ),
      (
        "stale-delete", "11.3", "a difference without a state, and a deletion: the feed is forgotten",
        log[3, end]
      ),
      (
        "stale-older-reload", "11.3", "a gap, and a reload that is older than the state: ignored",
        log[0, 2, 4, 0, 3, 5, 6, 7]
      ),
      (
        "stale-by-deletion", "11.3",
        "a deletion of another epoch: stale, so the next difference is not applied",
        log[0, 2] + ChangesetLog([Self.deletion(of: log.lines[end])]) + log[3, 5, 6]
      ),
    ]
  }

  // MARK: - Extensions of later versions, and recovery

  private func later() throws(JudgeFailure) -> [Case] {
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
    // A replica with an undetected fault: both the kind and the checksum of a difference are changed.
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
      ("not-later", "12.2", "unknown fields everywhere, and an unknown reason: nothing is wrong", extended),
      ("not-spaced", "11.7", "white space between tokens: nothing is wrong", spaced),
      (
        "not-healed", "11.3",
        "a reload of the replica's revision with another checksum: the replica was wrong", healed
      ),
    ]
  }
}
