/// Draws frames on a terminal in place, by ANSI escape sequences.
enum TerminalScreen {
  /// To a screen of its own, without a cursor.
  static let enter = "\u{1B}[?1049h\u{1B}[?25l"
  /// Back to what was there.
  static let leave = "\u{1B}[?25h\u{1B}[?1049l"

  /// Writes over the frame before; lines are erased one by one, so that nothing flickers.
  static func draw(_ frame: ScreenFrame) -> String {
    let lines = frame.lines.map { line in
      colour(of: line.mark).map { "\u{1B}[\($0)m\(line.text)\u{1B}[0m" } ?? line.text
    }
    // To the first place; after each line erased to its end; then the rest of the screen.
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
