/// Text in the language of manual pages, with the macros of man(7).
struct Roff {
  private(set) var text = ""

  /// - Parameters:
  ///   - title: the page's, such as `feedstore`.
  ///   - source: what it belongs to, such as `feedstore 0.1.0`.
  init(title: String, section: Int, source: String, manual: String) {
    text =
      ".TH \(Self.quoted(title.uppercased())) \(section) \"\" \(Self.quoted(source)) \(Self.quoted(manual))\n"
    // Neither hyphenated nor stretched: names of options and keys are to be found again.
    text += ".nh\n.ad l\n"
  }

  mutating func section(_ title: String) { text += ".SH \(Self.quoted(title.uppercased()))\n" }

  mutating func subsection(_ title: String) { text += ".SS \(Self.quoted(title))\n" }

  mutating func paragraph(_ words: String) { text += ".PP\n" + Self.escaped(words) + "\n" }

  /// A term in bold, and what is said of it.
  mutating func item(_ term: String, _ words: String) {
    text += ".TP\n.B \(Self.escapedInLine(term))\n\(Self.escaped(words))\n"
  }

  /// Lines as they are.
  package mutating func code(_ lines: String) {
    text += ".PP\n.nf\n.RS\n\(Self.escaped(lines))\n.RE\n.fi\n"
  }

  /// Text of which no line is taken for a request.
  static func escaped(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      let escaped = escapedInLine(String(line))
      return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }.joined(separator: "\n")
  }

  private static func escapedInLine(_ line: String) -> String {
    line.reduce(into: "") { text, character in
      switch character {
      case "\\": text += "\\e"
      // Not a typographic hyphen, which could not be searched for or copied.
      case "-": text += "\\-"
      case "`": text += "\\(ga"
      case "^": text += "\\(ha"
      case "~": text += "\\(ti"
      case "'": text += "\\(aq"
      default:
        if character.isASCII {
          text.append(character)
        } else {
          for scalar in character.unicodeScalars {
            text += "\\[u" + String(scalar.value, radix: 16, uppercase: true).leftPadded(4) + "]"
          }
        }
      }
    }
  }

  /// An argument of a macro.
  private static func quoted(_ text: String) -> String {
    "\""
      + escapedInLine(text).split(separator: "\"", omittingEmptySubsequences: false).joined(
        separator: "\\(dq"
      ) + "\""
  }
}

extension String {
  fileprivate func leftPadded(_ width: Int) -> String {
    String(repeating: "0", count: max(0, width - count)) + self
  }
}
