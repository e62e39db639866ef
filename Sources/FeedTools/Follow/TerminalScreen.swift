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
