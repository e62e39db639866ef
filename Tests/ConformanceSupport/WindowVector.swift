@testable import Oracle

/// A conformance vector for followers of windows: the messages of a stream, and the expected state after each.
struct WindowVector: Sendable {
  let name: String
  let title: String
  /// What is asked for of each feed: as JSON, and as a slice.
  private let windows: [OracleWindow]
  private let changes: [OracleChange]

  /// - Parameter windows: the first is asked for at the beginning, and each further one after an equal share of the changes.
  init(_ name: String, _ title: String, _ windows: [OracleWindow], _ changes: [OracleChange]) {
    self.name = name
    self.title = title
    self.windows = windows
    self.changes = changes
  }

  /// The members of the first window, as JSON.
  var request: [UInt8] { windows[0].text }

  /// A feed as the client has it.
  private struct Reader {
    var epoch: String
    var revision: Int
    var shown: OracleFeed
    var totals: [UInt8]
  }

  /// A line for each message.
  var text: [UInt8] {
    var readers: [OracleFeedKey: Reader] = [:]
    var lines: [[UInt8]] = []
    var window = windows[0]
    for (number, change) in changes.enumerated() {
      let next = windows[number * windows.count / changes.count]
      // A stream that is asked for another window says so, and begins again.
      if next != window {
        window = next
        for feed in readers.keys.sorted(by: { $0.id.lexicographicallyPrecedes($1.id) }) {
          let notice = Self.notice(feed, "the stream was asked for it again")
          lines.append(Self.line("must-refetch", notice, Self.none(feed)))
        }
        readers = [:]
      }
      // A feed that was created again has another epoch.
      let before = readers[change.key].flatMap { $0.epoch == change.epoch ? $0 : nil }
      guard let after = change.after else {
        if let before { lines.append(Self.deletion(change, before)) }
        readers[change.key] = nil
        continue
      }
      let reader = Reader(
        epoch: change.epoch,
        revision: change.revision,
        shown: window.shown(of: after),
        totals: window.totals(of: after)
      )
      // What is not shown is not told, so the client stays at its revision.
      if let before, before.shown == reader.shown, before.totals == reader.totals { continue }
      readers[change.key] = reader
      if let before, before.shown == reader.shown {
        // The totals alone: the state keeps its revision.
        readers[change.key]?.revision = before.revision
        lines.append(Self.totals(change, reader, before))
      } else {
        lines.append(Self.changeset(change, reader, after: before))
      }
    }
    return StoreVector.lines(lines)
  }

  // MARK: - Messages

  private static func changeset(_ change: OracleChange, _ reader: Reader, after before: Reader?) -> [UInt8] {
    var document = document(change, reader.shown)
    if let before {
      let difference = OracleDifference(
        before: before.shown,
        after: reader.shown,
        forced: OracleForced(),
        placements: OraclePlacements()
      )
      let units = difference.units(difference.fewestMoves)
      let mode = OracleWriter.weight(units) == 0 ? "reconfigure" : "diff"
      document = Self.document(change, reader.shown, mode, base: before.revision)
      document.units = units
    }
    var value = OracleText()
    value.add(document.unsplit.dropLast())
    value.addField("window", json: reader.totals)
    value.add("}")
    return line("message", value.bytes, then(change, reader, reader.revision, hasSections: true))
  }

  private static func deletion(_ change: OracleChange, _ before: Reader) -> [UInt8] {
    let document = document(change, OracleFeed(), "delete", base: before.revision)
    return line("message", document.unsplit, none(change.key))
  }

  private static func totals(_ change: OracleChange, _ reader: Reader, _ before: Reader) -> [UInt8] {
    var text = OracleText()
    text.add("{")
    text.addField("feed", string: change.key.id, isFirst: true)
    text.addField("epoch", string: change.epoch)
    text.addField("revision", number: change.revision)
    text.addField("window", json: reader.totals)
    text.add("}")
    return line("window", text.bytes, then(change, reader, before.revision, hasSections: false))
  }

  private static func notice(_ feed: OracleFeedKey, _ reason: String) -> [UInt8] {
    var text = OracleText()
    text.add("{")
    text.addField("feed", string: feed.id, isFirst: true)
    text.addField("reason", string: reason)
    text.add("}")
    return text.bytes
  }

  /// - Parameter base: nil for a reload, which has all of what is shown.
  private static func document(
    _ change: OracleChange,
    _ shown: OracleFeed,
    _ mode: String = "reload",
    base: Int? = nil
  ) -> OracleDocument {
    OracleDocument(
      feed: change.key.id,
      epoch: change.epoch,
      revision: change.revision,
      base: base ?? change.revision,
      mode: mode,
      reason: base == nil ? "keyframe" : nil,
      time: change.time,
      through: change.through,
      checksum: OracleChecksum.of(shown),
      units: base == nil ? OracleDifference.reloadUnits(shown) : []
    )
  }

  // MARK: - Lines

  private static func line(_ event: String, _ data: [UInt8], _ then: [UInt8]) -> [UInt8] {
    var text = OracleText()
    text.add("{\"event\":\"\(event)\",")
    text.addField("data", string: data, isFirst: true)
    text.addField("then", json: then)
    text.add("}")
    return text.bytes
  }

  private static func then(
    _ change: OracleChange,
    _ reader: Reader,
    _ revision: Int,
    hasSections: Bool
  ) -> [UInt8] {
    var text = OracleText()
    text.add("{")
    text.addField("feed", string: change.key.id, isFirst: true)
    text.addField("epoch", string: change.epoch)
    text.addField("revision", number: revision)
    text.addField("checksum", string: OracleChecksum.text(OracleChecksum.of(reader.shown)))
    text.addField("window", json: reader.totals)
    if hasSections { text.addField("sections", json: reader.shown.sectionsText) }
    text.add("}")
    return text.bytes
  }

  private static func none(_ feed: OracleFeedKey) -> [UInt8] {
    var text = OracleText()
    text.add("{")
    text.addField("feed", string: feed.id, isFirst: true)
    text.add(",\"epoch\":null}")
    return text.bytes
  }
}

/// A part of each feed (docs/http.md, section Windows).
struct OracleWindow: Sendable, Equatable {
  /// Their ids; nil for all.
  var sections: [String]?
  var from = 0
  /// nil for all.
  var count: Int?

  var text: [UInt8] {
    var members = sections.map { ["\"sections\":[\($0.map { "\"\($0)\"" }.joined(separator: ","))]"] } ?? []
    if let count, from == 0 { members.append("\"first\":\(count)") }
    if let count, from > 0 { members += ["\"from\":\(from)", "\"count\":\(count)"] }
    return Array("{\(members.joined(separator: ","))}".utf8)
  }

  private func isShown(_ section: OracleSection) -> Bool {
    sections.map { $0.contains(String(decoding: section.id, as: UTF8.self)) } ?? true
  }

  private func items(of section: OracleSection) -> ArraySlice<OracleItem> {
    section.items.dropFirst(from).prefix(count ?? .max)
  }

  func shown(of feed: OracleFeed) -> OracleFeed {
    var shown = feed
    shown.sections = feed.sections.filter(isShown).map { section in
      var section = section
      section.items = Array(items(of: section))
      return section
    }
    return shown
  }

  /// The member `window`.
  func totals(of feed: OracleFeed) -> [UInt8] {
    var text = OracleText()
    text.addList(
      feed.sections.filter(isShown).map { section in
        var text = OracleText()
        text.add("{")
        text.addField("section", string: section.id, isFirst: true)
        text.addField("from", number: from)
        text.addField("shown", number: items(of: section).count)
        text.addField("of", number: section.items.count)
        text.add("}")
        return text.bytes
      }
    )
    return text.bytes
  }
}
