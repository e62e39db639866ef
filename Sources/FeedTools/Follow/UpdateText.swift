import Diagnostics
import Feed
import FeedClient

/// Updates as readable lines.
package struct UpdateText {
  static let mostLine = 2_000

  /// Whether the mode is also shown by colour.
  let isColoured: Bool

  func line(_ update: FeedUpdate) -> String {
    let (colour, text) = parts(update)
    let line = Self.printable(Self.cut(text, most: Self.mostLine))
    return isColoured ? "\u{1B}[\(colour)m\(line)\u{1B}[0m" : line
  }

  private func parts(_ update: FeedUpdate) -> (colour: Int, text: String) {
    let name = FollowLine.name(update.feed, in: update.partition)
    switch update {
    case .present(let content, let passedOver):
      let description = content.description
      let details =
        "\(Quantity.count(description.sectionCount)) sections, \(Quantity.count(description.itemCount)) items"
        + (passedOver > 0 ? ", in place of \(passedOver) updates" : "")
      return (34, FollowLine.text("", name, "rev \(description.revision)", "present", details))
    case .changed(let changeset, _):
      let colour =
        switch changeset.change.mode {
        case .reconfigure: 36
        case .diff: 32
        case .reload: 33
        case .delete: 31
        }
      return (colour, FollowLine.text(of: changeset.change, in: changeset.partition, changeset.plan))
    case .mustRefetch(_, _, let reason):
      return (35, FollowLine.text("", name, "", "must refetch", reason))
    case .absent(_, _, let changeset):
      let details = changeset == nil ? "there is no such feed" : "the feed was deleted"
      return (31, FollowLine.text("", name, "", "absent", details))
    }
  }

  /// The text without terminal control characters.
  package static func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { result.append(isControl(scalar) ? "\u{FFFD}" : scalar) }
    return String(result)
  }

  /// An untrusted text, cut if it is long.
  ///
  /// - Parameter bytes: its whole length, if this is not all of it.
  static func cut(_ text: String, of bytes: Int? = nil, most: Int = 100) -> String {
    let count = bytes ?? text.utf8.count
    return count <= most ? text : String(text.unicodeScalars.prefix(most)) + "… (\(count) bytes)"
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
  }
}

/// Updates as lines of JSON: changesets in their form on the topic (protocol, section 4), each part on its own line,
/// with the member `partition` before the others. A state is a reload with the reason `keyframe`; `"stale":true`
/// follows `partition` if it is outdated.
///
/// Other updates have the fields `partition` (unless no partition has the feed), `feed` and `error`, and for
/// `must-refetch` a `message`.
enum UpdateJSON {
  static func lines(_ update: FeedUpdate) -> String {
    var beginning = update.partition.map { "{\"partition\":\($0)," } ?? "{"
    /// A changeset, which is an object with members.
    func line(_ value: [UInt8]) -> String {
      let members = value.drop { $0 != UInt8(ascii: "{") }.dropFirst()
      return beginning + String(decoding: members, as: UTF8.self) + "\n"
    }
    switch update {
    case .present(let content, _):
      if content.description.outdated != nil { beginning += "\"stale\":true," }
      return line(content.reloadDocument())
    case .changed(let changeset, _), .absent(_, _, let changeset?):
      return changeset.values.map(line).joined()
    case .absent(let feed, _, nil):
      return beginning + "\"feed\":\(JSONLine.quoted(feed)),\"error\":\"absent\"}\n"
    case .mustRefetch(let feed, _, let reason):
      return beginning
        + "\"feed\":\(JSONLine.quoted(feed)),\"error\":\"must-refetch\",\"message\":\(JSONLine.quoted(reason))}\n"
    }
  }
}

/// Composes JSON objects with members in a given order.
enum JSONLine {
  /// - Parameter fields: names, and values as JSON; nil to leave a field out.
  static func object(_ fields: [(name: String, value: String?)]) -> String {
    let members = fields.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }
    return "{" + members.joined(separator: ",") + "}"
  }

  static func list(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

  /// A text, or null.
  static func text(_ text: String?) -> String { text.map(quoted) ?? "null" }

  static func quoted(_ text: String) -> String { JSONData(string: text).description }
}

/// Describes why the planner published a changeset as it did.
enum PlanText {
  /// - Parameter reason: the reload's reason; nil for a difference.
  static func sentence(_ plan: ChangesetPlan, _ reason: ReloadReason?) -> String {
    switch plan {
    case .weighed(let weighed): sentence(weighed, reason)
    case .keyframe(let due): sentence(due)
    }
  }

  private static func sentence(_ weighed: WeighedDifference, _ reason: ReloadReason?) -> String {
    let thresholds = weighed.thresholds
    let isFractionUsed = weighed.items >= thresholds.minimumItems
    let greatestWeight = thresholds.maxChangedFraction * Double(weighed.items)
    // The limit that a growing weight reaches first, or has exceeded.
    let nearest: ReloadReason =
      !isFractionUsed || Double(thresholds.maxChanges) < greatestWeight ? .changes : .fraction
    let isPassed =
      weighed.weight > thresholds.maxChanges || (isFractionUsed && Double(weighed.weight) > greatestWeight)
    let sizes = Quantity.bytes(weighed.differenceBytes) + " against " + Quantity.bytes(weighed.reloadBytes)
    // A plan with another reason breaks the protocol.
    guard let words = weighed.words(for: reason ?? nearest, count: { Quantity.count($0) }) else {
      return "\(changes(weighed)); \(sizes)"
    }
    let bound =
      reason == nil && isPassed
      ? "above \(words.threshold), but a reload takes more than "
        + "\(ChangesetPlan.text(thresholds.maxReloadRatio)) times the bytes"
      : "reload above \(words.threshold)"
    return "\(words.figures ?? changes(weighed)); \(bound); \(sizes)"
  }

  /// `12 changes of 105 items weigh 0.11`
  private static func changes(_ weighed: WeighedDifference) -> String {
    let text =
      "\(Quantity.count(weighed.weight)) \(weighed.weight == 1 ? "change" : "changes") of \(items(weighed.items))"
    guard weighed.items > 0 else { return text }
    let share = Quantity.fixed(Double(weighed.weight) / Double(weighed.items), digits: 2)
    return "\(text) \(weighed.weight == 1 ? "weighs" : "weigh") \(share)"
  }

  private static func sentence(_ due: DueKeyframe) -> String {
    let deltas =
      "\(Quantity.count(due.deltas)) delta \(due.deltas == 1 ? "record" : "records") of "
      + "\(Quantity.bytes(due.deltaBytes)) since a reload of \(Quantity.bytes(due.lastReloadBytes))"
    let ratio = ChangesetPlan.text(due.policy.maxBytesRatio)
    let isLong = Double(due.deltaBytes) > due.policy.maxBytesRatio * Double(due.lastReloadBytes)
    return isLong
      ? "\(deltas); keyframe above \(ratio) times its bytes"
      : "\(deltas); keyframe from \(Quantity.count(due.policy.maxDeltas)) records on"
  }

  private static func items(_ count: Int) -> String {
    "\(Quantity.count(count)) \(count == 1 ? "item" : "items")"
  }
}

/// A readable line, in columns: time, feed, revision, mode, details.
enum FollowLine {
  /// The line for a change.
  ///
  /// - Parameter plan: why the changeset was published this way; appended to the line.
  static func text(of change: ReplicaChange, in partition: Int32, _ plan: ChangesetPlan? = nil) -> String {
    let mode = change.mode.rawValue + (change.reason.map { " (\($0.rawValue))" } ?? "")
    let details = change.mode == .reload ? "the whole feed" : entries(of: change)
    let bytes = Quantity.bytes(change.byteCount)
    let why = plan.map { "  " + PlanText.sentence($0, change.reason) } ?? ""
    return text(
      time(of: change.time),
      name(change.feed, in: partition),
      "rev \(change.revision)",
      mode,
      padded(details, 52) + "  " + (plan == nil ? bytes : padded(bytes, 8)) + why
    )
  }

  static func text(
    _ time: String,
    _ feed: String,
    _ revision: String,
    _ mode: String,
    _ details: String
  ) -> String {
    padded(time, 12) + "  " + padded(feed, 16) + "  " + padded(revision, 7) + "  " + padded(mode, 18) + "  "
      + details
  }

  /// A feed and its partition: `news [1]`.
  static func name(_ feed: String, in partition: Int32?) -> String {
    feed + (partition.map { " [\($0)]" } ?? "")
  }

  /// The entries of a difference in words: `insert 2, move 1`.
  static func entries(of change: ReplicaChange) -> String {
    [
      ("delete", change.counts.deletes), ("insert", change.counts.inserts), ("move", change.counts.moves),
      ("reconfigure", change.counts.reconfigures), ("reload", change.counts.reloads),
    ].filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  }

  /// The time of day of a timestamp.
  static func time(of text: String) -> String { String(text.dropFirst(11).dropLast()) }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  /// Rows with aligned columns; every line ends with a line feed.
  ///
  /// - Parameter widest: a longer cell, such as a certificate, does not widen its column for all rows.
  static func table(_ rows: [[String]], widest: Int = .max) -> String {
    let widths = rows[0].indices.map { column in
      rows.map { $0[column].count }.filter { $0 <= widest }.max() ?? 0
    }
    return rows.reduce(into: "") { text, row in
      var line = zip(row, widths).map { padded($0, $1) }.joined(separator: "  ")
      while line.last == " " { line.removeLast() }
      text += line + "\n"
    }
  }
}
