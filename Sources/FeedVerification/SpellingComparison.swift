import Feed

/// Compares the spelling of a text with the one that it must have.
enum SpellingComparison {
  /// Checks that a text is spelled as expected.
  ///
  /// - Parameter name: what it is, for messages.
  static func check(_ found: ByteSpan, _ expected: ByteSpan, of name: String) throws(Violation) {
    if found.hasSameBytes(as: expected) { return }
    var at = 0
    while at < min(found.count, expected.count), found[at] == expected[at] { at += 1 }
    if at < found.count, JSONText.isSpace(found[at]) {
      throw Violation("byte \(at) of \(name) is white space, before \(excerpt(found, at + 1))")
    }
    throw Violation(
      "from byte \(at) on \(name) is \(excerpt(found, at)), expected \(excerpt(expected, at))"
    )
  }

  /// What follows a byte, cut to a bound.
  private static func excerpt(_ text: ByteSpan, _ at: Int) -> String {
    var start = at
    // A character begins before its differing byte.
    while start > 0, start < text.count, text[start] & 0xC0 == 0x80 { start -= 1 }
    let rest = ByteSpan(text.base + start, max(0, text.count - start))
    if rest.isEmpty { return "at its end" }
    var end = min(rest.count, 40)
    while end < rest.count, end > 0, rest[end] & 0xC0 == 0x80 { end -= 1 }
    return "‹\(ByteSpan(rest.base, end).text)\(end < rest.count ? "…" : "")›"
  }
}
