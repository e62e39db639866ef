/// Entity tags and the condition `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1.2).
enum EntityTag {
  /// The tag in a response. Compressed content is another representation and has another tag.
  static func text(_ tag: String, isCompressed: Bool) -> String {
    isCompressed ? "\"\(tag)-gzip\"" : "\"\(tag)\""
  }

  /// The tag of the representation that the client has, as in a response; nil if it does not have this version.
  ///
  /// - Parameter condition: the value of `If-None-Match`; `*` matches any version.
  static func matched(_ tag: String, by condition: String) -> String? {
    let listed = condition.split(separator: ",").map { $0.trimmingSpaces() }
    let forms = [text(tag, isCompressed: false), text(tag, isCompressed: true)]
    // Weak comparison ignores whether a tag is weak.
    return forms.first { form in listed.contains { $0 == "*" || $0 == form || $0 == "W/" + form } }
  }
}

extension StringProtocol {
  /// The text without surrounding spaces and tabs.
  func trimmingSpaces() -> SubSequence {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    let start = self.drop(while: isSpace)
    guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start.prefix(0) }
    return start[...last]
  }
}
