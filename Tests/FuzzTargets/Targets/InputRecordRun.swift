import Feed
import FeedChecks
import Oracle

/// Applies records to one feed in several ways, and to the oracle's.
struct InputRecordRun {
  /// Limits that are small enough to be exceeded sometimes.
  static var limits: Limits {
    var limits = Limits()
    limits.maxIdBytes = 40
    limits.maxDataBytes = 300
    limits.maxItems = 12
    limits.maxSections = 4
    limits.maxEvents = 8
    limits.maxDepth = 30
    return limits
  }

  private enum Form: CaseIterable {
    case asItIs, minified, partOfText
  }

  private static let key = Array("f".utf8)
  private static let topic = "t"

  private var oracle = Oracle(limits: InputRecordRun.limits, contentsTopic: "contents")
  private let decoder = RecordDecoder(limits: InputRecordRun.limits, takesReferences: true)
  private let parser = ReplayLineParser()
  /// A directory with one feed for each form.
  private let directories = Form.allCases.map { _ in FeedDirectory(contents: ContentTable()) }
  private var offset = 0

  mutating func take(_ line: [UInt8]) throws(FuzzFailure) {
    var (key, value) = (InputRecordRun.key, line as [UInt8]?)
    if line.first == UInt8(ascii: "="), let end = line.dropFirst().firstIndex(of: UInt8(ascii: "=")) {
      key = Array(line[1..<end])
      value = Array(line[(end + 1)...])
    }
    if value == Array("null".utf8) { value = nil }
    offset += 1
    let before = oracle
    let record = OracleRecord(topic: Self.topic, offset: offset, key: key, value: value)
    let outcome = oracle.apply(record)
    var expectedCode: String?
    if case .rejected(let rejection) = outcome { expectedCode = rejection.code.rawValue }
    let expected = oracle.current(OracleFeedKey(partition: 0, id: key))
    let isOther = key != InputRecordRun.key
    // Another feed is not kept, nor is the effect of a rejected record.
    if isOther || expectedCode != nil { oracle = before }
    for (form, known) in zip(Form.allCases, directories) {
      let directory = isOther ? FeedDirectory(contents: ContentTable()) : known
      let feed = key.withOwnSpan { directory.feed($0) ?? directory.makeFeed($0) }
      let code = try apply(key, value, to: feed, form)
      try expect(
        code == expectedCode,
        "\(form): \(code ?? "applied"), expected \(expectedCode ?? "applied"), of \(line.text)"
      )
      try expect(feed.exists == (expected != nil), "\(form): exists is \(feed.exists), after \(line.text)")
      let content = try feed.snapshot().oracleFeed
      try expect(
        content == expected ?? OracleFeed(),
        "\(form): another content than the oracle's after \(line.text)"
      )
    }
  }

  /// Returns the code with which the record was rejected.
  private func apply(
    _ key: [UInt8],
    _ value: [UInt8]?,
    to feed: PublishedFeed,
    _ form: Form
  ) throws(FuzzFailure) -> String? {
    let before = try PublishedFeedContent(feed)
    let position = RecordPosition(topic: Array(Self.topic.utf8), offset: Int64(offset), timestamp: 0)
    var code: String?
    do throws(Rejection) {
      try key.withOwnSpan { key throws(Rejection) in
        switch form {
        case .asItIs: try apply(key, value, to: feed, position)
        case .minified:
          let json = value.flatMap { try? OracleJSON.parse($0) }
          try apply(key, json?.minified ?? value, to: feed, position)
        case .partOfText: try applyPart(key, value, to: feed, position)
        }
      }
    } catch {
      code = error.code.rawValue
    }
    feed.checkInvariants()
    if let code { try before.check(feed, "a record that was rejected (\(code), \(form))") }
    return code
  }

  private func apply(
    _ key: ByteSpan,
    _ value: [UInt8]?,
    to feed: PublishedFeed,
    _ position: RecordPosition
  ) throws(Rejection) {
    guard let value else {
      try decoder.decode(key: key, value: nil)
      try feed.apply(decoder, at: position) { _ in }
      return
    }
    try value.withOwnSpan { value throws(Rejection) in
      try decoder.decode(key: key, value: value)
      try feed.apply(decoder, at: position) { _ in }
    }
  }

  /// Applies the value as it appears in a replay line; unchanged if it cannot appear there.
  private func applyPart(
    _ key: ByteSpan,
    _ value: [UInt8]?,
    to feed: PublishedFeed,
    _ position: RecordPosition
  ) throws(Rejection) {
    // In a line, a null could be JSON's or Kafka's.
    guard let value, let json = try? OracleJSON.parse(value), json.content != .null else {
      return try apply(key, value, to: feed, position)
    }
    let line = Array("{\"value\":".utf8) + value + Array(",\"a\":[]}".utf8)
    try line.withOwnSpan { line throws(Rejection) in
      guard var record = try? parser.parse(line) else {
        return try apply(key, value, to: feed, position)
      }
      record.key = key
      try decoder.decode(record)
      try feed.apply(decoder, at: position) { _ in }
    }
  }
}
