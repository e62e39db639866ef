/// The client's preferences: the value of `Accept` or `Accept-Encoding` (RFC 9110, section 12.4).
struct QualityList {
  /// Lower-case names, with their quality in thousandths; 0 means "not acceptable".
  private let entries: [(name: Substring, quality: Int)]

  /// Parses a list; invalid entries are ignored, as is usual for these headers.
  init(_ text: String) {
    entries = text.lowercased().split(separator: ",").compactMap { part in
      let pieces = part.split(separator: ";", omittingEmptySubsequences: false).map { $0.trimmingSpaces() }
      guard let name = pieces.first, !name.isEmpty else { return nil }
      guard let quality = pieces.dropFirst().first(where: { $0.hasPrefix("q=") }) else { return (name, 1000) }
      return Self.thousandths(quality.dropFirst(2)).map { (name, $0) }
    }
  }

  /// `0`, `0.5`, `1.000`: at most three digits after the point.
  private static func thousandths(_ text: Substring) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, whole == "0" || whole == "1" else { return nil }
    let fraction = parts.count > 1 ? parts[1] : ""
    guard fraction.utf8.count <= 3, fraction.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
    let digits = fraction + String(repeating: "0", count: 3 - fraction.utf8.count)
    return min(1000, (whole == "1" ? 1000 : 0) + (Int(digits) ?? 0))
  }

  /// The quality of a media type in thousandths; 0 if it is not accepted.
  ///
  /// The most specific entry counts: the type itself, then `type/*`, then `*/*`. Parameters are ignored.
  func quality(ofMediaType mediaType: String) -> Int {
    let name = mediaType.lowercased().prefix { $0 != ";" }.trimmingSpaces()
    let family = name.prefix { $0 != "/" } + "/*"
    return quality(of: name) ?? quality(of: family) ?? quality(of: "*/*") ?? 0
  }

  /// Whether a content coding such as `gzip` is accepted.
  func acceptsEncoding(_ name: Substring) -> Bool {
    (quality(of: name) ?? quality(of: "*") ?? 0) > 0
  }

  /// The preferred media type, the first among equals; nil if none is accepted.
  func best(of mediaTypes: [String]) -> String? {
    var best: (mediaType: String, quality: Int)?
    for mediaType in mediaTypes {
      let quality = quality(ofMediaType: mediaType)
      if quality > best?.quality ?? 0 { best = (mediaType, quality) }
    }
    return best?.mediaType
  }

  private func quality(of name: Substring) -> Int? {
    entries.first { $0.name == name }?.quality
  }
}
