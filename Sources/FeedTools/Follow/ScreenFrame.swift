import Feed
import FeedClient

/// The screen lines for a feed after an update: a headline, then its sections and items, marked with their changes.
struct ScreenFrame: Equatable {
  /// The change of an element, which determines how its line is shown.
  enum Mark: Equatable {
    case none, title, section, inserted, moved, reconfigured, reloaded
  }

  struct Line: Equatable {
    var text: String
    var mark = Mark.none
  }

  private(set) var lines: [Line] = []
  private let columns: Int
  private let rows: Int

  /// - Parameters:
  ///   - columns: the maximum length of a line, in characters.
  ///   - rows: the maximum number of lines; the last one counts those left out.
  init(_ update: FeedUpdate, columns: Int, rows: Int) {
    self.columns = columns
    self.rows = max(2, rows)
    add(Self.title(of: update), .title)
    guard let snapshot = update.snapshot else { return }
    var difference: SnapshotDifference?
    if case .changed(let changeset, _) = update { difference = changeset.change.difference }
    addElements(of: snapshot, marks: Marks(difference))
  }

  private static func title(of update: FeedUpdate) -> String {
    let name = FollowLine.name(update.feed, in: update.partition)
    return switch update {
    case .present(let content, _):
      "\(name)  rev \(content.description.revision)  \(content.description.itemCount) items"
        + (content.description.outdated.map { "  must refetch: \($0)" } ?? "")
    case .changed(let changeset, _):
      FollowLine.text(of: changeset.change, in: changeset.partition)
    case .mustRefetch(_, _, let reason): "\(name)  must refetch: \(reason)"
    case .absent: "\(name)  there is no such feed"
    }
  }

  private mutating func addElements(of snapshot: Snapshot, marks: Marks) {
    var hidden = 0
    for section in snapshot.sectionIdentifiers {
      let items = (try? snapshot.itemIdentifiers(inSection: section)) ?? []
      if lines.count >= rows - 1 {
        hidden += items.count
        continue
      }
      let data = snapshot.data(ofSection: section) ?? .null
      add(marks.signs(section) + "\(section)  \(data)", marks.mark(section))
      let shown = items.prefix(max(0, rows - 1 - lines.count))
      for item in shown {
        let kind = snapshot.kind(ofItem: item) ?? ""
        let data = snapshot.data(ofItem: item) ?? .null
        add("  " + marks.signs(item) + "\(item)  \(kind)  \(data)", marks.mark(item))
      }
      hidden += items.count - shown.count
    }
    if hidden > 0 { add("… \(hidden) more items") }
  }

  private mutating func add(_ text: String, _ mark: Mark = .none) {
    lines.append(Line(text: UpdateText.printable(String(text.prefix(columns))), mark: mark))
  }

  /// The changes of each element in a difference. Place: `+` inserted, `↕` moved. Content: `~` reconfigured, `!`
  /// reloaded.
  private struct Marks {
    private var itemPlaces: [ItemIdentifier: Mark] = [:]
    private var itemContents: [ItemIdentifier: Mark] = [:]
    private var sectionPlaces: [SectionIdentifier: Mark] = [:]
    private var sectionContents: [SectionIdentifier: Mark] = [:]

    init(_ difference: SnapshotDifference?) {
      guard let difference else { return }
      for entry in difference.items.inserts { itemPlaces[entry.id] = .inserted }
      for entry in difference.items.moves { itemPlaces[entry.id] = .moved }
      for entry in difference.items.reconfigures { itemContents[entry.id] = .reconfigured }
      for entry in difference.items.reloads { itemContents[entry.id] = .reloaded }
      for entry in difference.sections.inserts { sectionPlaces[entry.id] = .inserted }
      for entry in difference.sections.moves { sectionPlaces[entry.id] = .moved }
      for entry in difference.sections.reconfigures { sectionContents[entry.id] = .reconfigured }
      for entry in difference.sections.reloads { sectionContents[entry.id] = .reloaded }
    }

    func mark(_ item: ItemIdentifier) -> Mark { itemPlaces[item] ?? itemContents[item] ?? .none }

    func mark(_ section: SectionIdentifier) -> Mark {
      sectionPlaces[section] ?? sectionContents[section] ?? .section
    }

    func signs(_ item: ItemIdentifier) -> String { Self.signs(itemPlaces[item], itemContents[item]) }

    func signs(_ section: SectionIdentifier) -> String {
      Self.signs(sectionPlaces[section], sectionContents[section])
    }

    private static func signs(_ place: Mark?, _ content: Mark?) -> String {
      let place = place == .inserted ? "+" : place == .moved ? "↕" : " "
      let content = content == .reconfigured ? "~" : content == .reloaded ? "!" : " "
      return place + content + " "
    }
  }
}

/// Draws frames on a terminal in place, with ANSI escape sequences.
enum TerminalScreen {
  /// Switches to the alternate screen and hides the cursor.
  static let enter = "\u{1B}[?1049h\u{1B}[?25l"
  /// Restores the cursor and the normal screen.
  static let leave = "\u{1B}[?25h\u{1B}[?1049l"

  /// Overwrites the previous frames line by line, to avoid flicker.
  static func draw(_ frames: [ScreenFrame], isColoured: Bool = true) -> String {
    let lines = frames.flatMap(\.lines).map { line in
      guard isColoured, let colour = colour(of: line.mark) else { return line.text }
      return "\u{1B}[\(colour)m\(line.text)\u{1B}[0m"
    }
    // Moves to the top, clears each line to its end, then clears the rest of the screen.
    return "\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J"
  }

  private static func colour(of mark: ScreenFrame.Mark) -> Int? {
    switch mark {
    case .none: nil
    case .title: 7
    case .section: 1
    case .inserted: 32
    case .moved: 34
    case .reconfigured: 36
    case .reloaded: 33
    }
  }
}
