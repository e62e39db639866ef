/// Entity tags of contents, and the condition `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1.2).
enum EntityTag {
  /// The tag as it is sent. The compressed form of a content is another representation, and has another tag.
  static func text(_ tag: String, isCompressed: Bool) -> String {
    isCompressed ? "\"\(tag)-gzip\"" : "\"\(tag)\""
  }

  /// The form in which a client has this version, as it is sent; nil if it does not have it.
  ///
  /// - Parameter condition: The value of `If-None-Match`; `*` is any version.
  static func matched(_ tag: String, by condition: String) -> String? {
    let listed = condition.split(separator: ",").map { $0.trimmingSpaces() }
    let forms = [text(tag, isCompressed: false), text(tag, isCompressed: true)]
    // Weak comparison: whether a tag is weak does not matter.
    return forms.first { form in listed.contains { $0 == "*" || $0 == form || $0 == "W/" + form } }
  }
}

extension StringProtocol {
  /// Without the spaces and tabs around it.
  func trimmingSpaces() -> SubSequence {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    let start = self.drop(while: isSpace)
    guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start.prefix(0) }
    return start[...last]
  }
}
