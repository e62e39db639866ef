/// Text in roff, with the macros of man(7).
struct Roff {
  private(set) var text = ""

  /// - Parameters:
  ///   - title: the page's title, such as `feedstore`.
  ///   - source: the project and version, such as `feedstore 0.1.0`.
  init(title: String, section: Int, source: String, manual: String) {
    text =
      ".TH \(Self.quoted(title.uppercased())) \(section) \"\" \(Self.quoted(source)) \(Self.quoted(manual))\n"
    // Without hyphenation and justification, so that names of options and keys can be searched for.
    text += ".nh\n.ad l\n"
  }

  mutating func section(_ title: String) { text += ".SH \(Self.quoted(title.uppercased()))\n" }

  mutating func subsection(_ title: String) { text += ".SS \(Self.quoted(title))\n" }

  mutating func paragraph(_ words: String) { text += ".PP\n" + Self.escaped(words) + "\n" }

  /// A bold term and its description.
  mutating func item(_ term: String, _ words: String) {
    text += ".TP\n.B \(Self.escapedInLine(term))\n\(Self.escaped(words))\n"
  }

  /// Lines that are printed unchanged.
  package mutating func code(_ lines: String) {
    text += ".PP\n.nf\n.RS\n\(Self.escaped(lines))\n.RE\n.fi\n"
  }

  /// Escapes text so that no line is taken for a request.
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
      // A plain hyphen-minus, which can be searched for and copied.
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

  /// Quotes an argument of a macro.
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
