import Oracle
import Testing

@testable import Feed
@testable import FeedChecks

/// Texts crafted against a table that uses the low bits of unseeded XXH3 as places cost no more than others.
@Suite struct HashFloodingTests {
  private static let count = 20_000
  /// For a table that is filled to less than two thirds by this many texts.
  private static let bits = 15
  private let texts = HashFloodingTests.closeTexts()

  /// Texts whose places are among the first of 64.
  private static func closeTexts() -> [String] {
    let bound = UInt32(1) << bits / 64
    var texts: [String] = []
    var number = 0
    while texts.count < count {
      let text = String(number, radix: 36)
      number += 1
      if oldPlace(text) < bound { texts.append(text) }
    }
    return texts
  }

  private static func oldPlace(_ text: String) -> UInt32 {
    // A fingerprint is the former hash of tables.
    withSpan(text) { DataFingerprint.of($0) } & (1 << bits - 1)
  }

  /// Random hashes put an element of such a full table at most two places farther, on average; a table with 99 of
  /// 100 elements at one place has distances of thousands.
  private func expectShort(
    _ distances: [Int],
    of count: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(distances.count == count, sourceLocation: sourceLocation)
    #expect(distances.reduce(0, +) < 3 * count, sourceLocation: sourceLocation)
    #expect((distances.max() ?? 0) <= HashIndex.maxDistance, sourceLocation: sourceLocation)
  }

  @Test func `the texts stand far from their places under unseeded hashes`() {
    // The first free place, as all places are in one run from the beginning.
    let places = texts.map(HashFloodingTests.oldPlace)
    let sum = places.indices.reduce(0) { $0 + max(0, $1 - Int(places[$1])) }
    #expect(sum / HashFloodingTests.count > 5_000)
  }

  private func apply(_ value: String) throws -> (feed: PublishedFeed, decoder: RecordDecoder) {
    var limits = Limits()
    limits.maxSections = 100_000
    let decoder = RecordDecoder(limits: limits)
    let feed = withSpan("feed") { PublishedFeed(id: $0) }
    let position = RecordPosition(topic: Array("feeds.items".utf8), offset: 0, timestamp: 0)
    try withSpan(value) { value in
      try decoder.decode(key: feed.id, value: value)
      try feed.apply(decoder, at: position) { _ in }
    }
    return (feed, decoder)
  }

  private func array(_ texts: some Sequence<String>, _ element: (String) -> String) -> String {
    "[" + texts.map(element).joined(separator: ",") + "]"
  }

  @Test func `ids of items cost what others cost`() throws {
    let items = array(texts) { "\"\($0)\"" }
    let (feed, decoder) = try apply(#"{"op":"section.replace","section":"s","items":"# + items + "}")
    expectShort(feed.state.items.index.distances, of: texts.count)
    expectShort(decoder.itemIDs.distances, of: texts.count)
  }

  @Test func `ids of sections cost what others cost`() throws {
    let sections = array(texts) { #"{"id":"\#($0)"}"# }
    let (feed, _) = try apply(#"{"op":"feed.replace","sections":"# + sections + "}")
    expectShort(feed.state.sections.index.distances, of: texts.count)
  }

  @Test func `kinds cost what others cost`() throws {
    let items = array(texts) { #"{"id":"i\#($0)","kind":"\#($0)"}"# }
    let (feed, _) = try apply(#"{"op":"section.replace","section":"s","items":"# + items + "}")
    expectShort(feed.state.kinds.index.distances, of: texts.count)
  }

  @Test func `feed keys cost what others cost`() {
    let directory = FeedDirectory()
    for text in texts { withSpan(text) { _ = directory.makeFeed($0) } }
    expectShort(directory.index.distances, of: texts.count)
  }

  /// Like a merge patch with the names of members.
  @Test func `names of members cost what others cost`() {
    let spans = texts.map { withSpan($0) { OwnedSpan($0) } }
    var index = HashIndex(capacity: spans.count)
    for (number, owned) in spans.enumerated() {
      let hash = ByteHash.of(owned.span)
      let known = index.find(owned.span, hash) { spans[Int($0)].span }
      #expect(known == nil)
      index.insert(owned.span, hash, UInt32(number)) { spans[Int($0)].span }
    }
    expectShort(index.distances, of: spans.count)
  }
}
