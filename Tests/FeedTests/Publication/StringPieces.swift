extension StringProtocol {
  /// The pieces between the occurrences of a text.
  func components(of separator: String) -> [String] {
    var pieces: [String] = []
    var rest = self[startIndex...]
    while let range = rest.firstRange(of: separator) {
      pieces.append(String(rest[..<range.lowerBound]))
      rest = rest[range.upperBound...]
    }
    pieces.append(String(rest))
    return pieces
  }
}
