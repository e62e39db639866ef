/// The manual page of a configuration, for section 5. It is generated from a file with all keys, their defaults and
/// comments.
public struct ConfigurationManual {
  private struct Entry {
    let key: String
    let line: Int
  }

  private let lines: [Substring]
  private let entries: [Entry]

  /// - Throws: ``ConfigurationError`` if the text is not JSON5.
  public init(text: String, name: String) throws(ConfigurationError) {
    _ = try ConfigurationDocument(text: text, name: name)
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    entries = ConfigurationOutline(text).lines.map { Entry(key: $0.key, line: $0.value) }.sorted {
      $0.line < $1.line
    }
  }

  /// - Parameters:
  ///   - title: the page's title, such as `feedstore.json5`.
  ///   - source: the project and version, such as `feedstore 0.1.0`.
  ///   - summary: the line under NAME, which `apropos` finds.
  ///   - more: additional sections, which follow the keys.
  public func page(title: String, source: String, summary: String, with more: [ManualSection]) -> String {
    var page = Roff(title: title, section: 5, source: source, manual: "File Formats")
    page.section("Name")
    page.paragraph("\(title) - \(summary)")
    page.section("Description")
    for paragraph in introduction { page.paragraph(paragraph) }
    page.section("Keys")
    for entry in entries { write(entry, to: &page) }
    for section in more { section.write(to: &page) }
    return page.text
  }

  /// The comments at the beginning of the file.
  private var introduction: [String] {
    let comments = lines.prefix { $0.hasPrefix("//") }.map { $0.dropFirst(2) }
    return comments.split { $0.allSatisfy(\.isWhitespace) }.map(Self.joined)
  }

  private func write(_ entry: Entry, to page: inout Roff) {
    let line = lines[entry.line - 1]
    let value = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).last ?? ""
    let text = Self.trimmed(value.hasSuffix(",") ? value.dropLast() : value)
    if text == "{" {
      page.subsection(entry.key)
      let comment = comment(before: entry.line)
      if !comment.isEmpty { page.paragraph(comment) }
    } else {
      page.item("\(entry.key): \(text)", comment(before: entry.line))
    }
  }

  /// The comment that ends on the line before this one.
  private func comment(before line: Int) -> String {
    let above = lines[..<(line - 1)].reversed().prefix { Self.trimmed($0).hasPrefix("//") }
    return Self.joined(above.reversed().map { Self.trimmed($0).dropFirst(2) })
  }

  private static func joined(_ comments: some Sequence<Substring>) -> String {
    comments.map { trimmed($0) }.joined(separator: " ")
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let start = text.drop { $0.isWhitespace }
    let count = start.reversed().prefix { $0.isWhitespace }.count
    return start.dropLast(count)
  }
}
