import Feed
import FeedClient
import Service

/// Updates as readable lines.
struct UpdateText {
  /// Whether the mode is also shown by colour.
  let isColoured: Bool

  func line(_ update: FeedUpdate) -> String {
    let (colour, text) = parts(update)
    let line = Self.printable(text)
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
  static func printable(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { result.append(isControl(scalar) ? "\u{FFFD}" : scalar) }
    return String(result)
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
  }
}
