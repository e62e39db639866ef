/// Entity tags and the condition `If-None-Match` (RFC 9110, sections 8.8.3 and 13.1.2).
enum EntityTag {
  /// Further tags of a condition are ignored, so that a long list costs little. A client has one or two versions.
  private static let mostListed = 32

  /// The tag in a response. Compressed content is another representation and has another tag.
  static func text(_ tag: String, isCompressed: Bool) -> String {
    isCompressed ? "\"\(tag)-gzip\"" : "\"\(tag)\""
  }

  /// The tag of the representation that the client has, as in a response; nil if it does not have this version.
  ///
  /// - Parameter condition: the value of `If-None-Match`; `*` matches any version.
  static func matched(_ tag: String, by condition: String) -> String? {
    let listed = condition.utf8.split(separator: UInt8(ascii: ","), maxSplits: mostListed).prefix(mostListed)
      .map {
        $0.trimmingSpaces()
      }
    let forms = [text(tag, isCompressed: false), text(tag, isCompressed: true)]
    return forms.first { form in
      listed.contains {
        // Weak comparison ignores whether a tag is weak.
        $0.elementsEqual("*".utf8)
          || ($0.starts(with: "W/".utf8) ? $0.dropFirst(2) : $0).elementsEqual(form.utf8)
      }
    }
  }
}

extension BidirectionalCollection<UInt8> {
  /// The bytes without surrounding spaces and tabs.
  func trimmingSpaces() -> SubSequence {
    let isSpace = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    let start = self.drop(while: isSpace)
    guard let last = start.lastIndex(where: { !isSpace($0) }) else { return start.prefix(0) }
    return start[...last]
  }
}
