import Oracle

/// The bytes of a text.
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// The text of bytes.
func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// A feed written as `today: a b | live: c`.
func feed(_ outline: String) -> OracleFeed {
  if outline.isEmpty { return OracleFeed() }
  let sections = outline.split(separator: "|").map { part in
    let words = part.split(whereSeparator: { " :".contains($0) }).map(String.init)
    return OracleSection(id: bytes(words[0]), items: words.dropFirst().map { OracleItem(id: bytes($0)) })
  }
  return OracleFeed(sections: sections)
}

/// One feed's oracle, which takes values one by one.
struct OneFeed {
  var oracle: Oracle
  private var offset = 0
  let key = OracleFeedKey(partition: 3, id: bytes("hn"))

  init(_ oracle: Oracle = Oracle()) {
    self.oracle = oracle
  }

  @discardableResult
  mutating func apply(
    _ value: String?,
    topic: String = "feeds.items",
    offset given: Int? = nil,
    timestamp: Int = 0
  ) -> OracleOutcome {
    let record = OracleRecord(
      topic: topic,
      partition: 3,
      offset: given ?? offset,
      timestamp: timestamp,
      key: key.id,
      value: value.map(bytes)
    )
    offset = (given ?? offset) + 1
    return oracle.apply(record)
  }

  /// The code with which a value is rejected; nil if it is accepted.
  mutating func code(_ value: String?) -> OracleRejectCode? {
    if case .rejected(let rejection) = apply(value) { rejection.code } else { nil }
  }

  mutating func flush() -> OracleChange? { oracle.flush().changes.first }

  var current: OracleFeed? { oracle.current(key) }
  var outlined: String? { current?.outline }
}
