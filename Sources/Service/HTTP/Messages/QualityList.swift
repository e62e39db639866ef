/// The client's preferences: the value of `Accept` or `Accept-Encoding` (RFC 9110, section 12.4).
struct QualityList {
  /// Names, with their quality in thousandths; 0 means "not acceptable".
  private let entries: [(name: Substring.UTF8View, quality: Int)]

  /// Further entries, and further parameters of an entry, are ignored, so that a long list costs little: nobody has
  /// been seen to send so many.
  private static let mostEntries = 32
  private static let mostParameters = 8

  /// Parses a list; invalid entries are ignored, as is usual for these headers.
  init(_ text: String) {
    entries = text.utf8.split(separator: UInt8(ascii: ","), maxSplits: Self.mostEntries)
      .prefix(Self.mostEntries).compactMap { part in
        let pieces = part.split(
          separator: UInt8(ascii: ";"),
          maxSplits: Self.mostParameters,
          omittingEmptySubsequences: false
        ).prefix(Self.mostParameters).map { $0.trimmingSpaces() }
        guard let name = pieces.first, !name.isEmpty else { return nil }
        guard let quality = pieces.dropFirst().first(where: Self.isQuality) else { return (name, 1000) }
        return Self.thousandths(quality.dropFirst(2)).map { (name, $0) }
      }
  }

  private static func isQuality(_ piece: Substring.UTF8View) -> Bool {
    HTTPField.isSameName(piece.prefix(2), "q=".utf8)
  }

  /// `0`, `0.5`, `1.000`: at most three digits after the point.
  private static func thousandths(_ text: Substring.UTF8View) -> Int? {
    let (zero, one) = (UInt8(ascii: "0"), UInt8(ascii: "1"))
    guard let whole = text.first, whole == zero || whole == one else { return nil }
    var rest = text.dropFirst()
    if let point = rest.popFirst(), point != UInt8(ascii: ".") { return nil }
    guard rest.count <= 3, rest.allSatisfy({ (zero...UInt8(ascii: "9")).contains($0) }) else { return nil }
    let fraction = (Array(rest) + [zero, zero, zero]).prefix(3).reduce(0) { 10 * $0 + Int($1 - zero) }
    return min(1000, (whole == one ? 1000 : 0) + fraction)
  }

  /// The quality of a media type in thousandths; 0 if it is not accepted.
  ///
  /// The most specific entry counts: the type itself, then `type/*`, then `*/*`. Parameters are ignored.
  func quality(ofMediaType mediaType: String) -> Int {
    let name = Substring(mediaType.utf8.prefix { $0 != UInt8(ascii: ";") }.trimmingSpaces())
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
    entries.first { HTTPField.isSameName($0.name, name.utf8) }?.quality
  }
}
