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
  ///   - rows: the maximum number of lines; the last one counts omitted lines.
  init(_ update: FeedUpdate, columns: Int, rows: Int) {
    self.columns = columns
    self.rows = max(2, rows)
    add(Self.title(of: update), .title)
    guard let snapshot = update.snapshot else { return }
    var difference: SnapshotDifference?
    if case .changed(let changeset, _) = update { difference = changeset.change.difference }
    addElements(of: snapshot, difference)
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

  private mutating func addElements(of snapshot: Snapshot, _ difference: SnapshotDifference?) {
    let (sections, items) = (Marks(difference?.sections), Marks(difference?.items))
    var hidden = 0
    for section in snapshot.sectionIdentifiers {
      let listed = (try? snapshot.itemIdentifiers(inSection: section)) ?? []
      if lines.count >= rows - 1 {
        hidden += listed.count
        continue
      }
      let data = snapshot.data(ofSection: section) ?? .null
      add(sections.signs(section) + "\(section)  \(data)", sections.mark(section) ?? .section)
      let shown = listed.prefix(max(0, rows - 1 - lines.count))
      for item in shown {
        let kind = snapshot.kind(ofItem: item) ?? ""
        let data = snapshot.data(ofItem: item) ?? .null
        add("  " + items.signs(item) + "\(item)  \(kind)  \(data)", items.mark(item) ?? .none)
      }
      hidden += listed.count - shown.count
    }
    if hidden > 0 { add("… \(hidden) more items") }
  }

  private mutating func add(_ text: String, _ mark: Mark = .none) {
    lines.append(Line(text: UpdateText.printable(String(text.prefix(columns))), mark: mark))
  }

  /// The changes of each section or item in a difference. Place: `+` inserted, `↕` moved. Content: `~` reconfigured,
  /// `!` reloaded.
  private struct Marks<ID: Sendable & Hashable> {
    private var places: [ID: Mark] = [:]
    private var contents: [ID: Mark] = [:]

    init<Position>(_ changes: ElementChanges<ID, Position>?) {
      guard let changes else { return }
      for entry in changes.inserts { places[entry.id] = .inserted }
      for entry in changes.moves { places[entry.id] = .moved }
      for entry in changes.reconfigures { contents[entry.id] = .reconfigured }
      for entry in changes.reloads { contents[entry.id] = .reloaded }
    }

    func mark(_ id: ID) -> Mark? { places[id] ?? contents[id] }

    func signs(_ id: ID) -> String {
      let place = places[id] == .inserted ? "+" : places[id] == .moved ? "↕" : " "
      let content = contents[id] == .reconfigured ? "~" : contents[id] == .reloaded ? "!" : " "
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
