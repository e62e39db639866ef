import Feed
import FeedConfiguration
import FeedIngest

/// What a mapping makes of records, one after the other.
struct Mapping {
  private let mapper: RowMapper

  /// - Parameters:
  ///   - source: an element of `ingest.sources`, without its topic.
  ///   - settings: of the registry of schemas, as `KEY=VALUE`.
  ///   - clock: the registry's.
  init(
    _ source: String,
    limits: Limits = Limits(),
    sections: SentSections = SentSections(),
    settings: [String] = [],
    clock: @escaping () -> Int64 = { 0 }
  ) throws {
    let assignments =
      ["ingest.sources=[{topic: \"rows\", \(source)}]", "topics.contents=contents"] + settings
    let options = try ConfigurationSources(assignments: assignments).load().configuration.ingest
    let schemas = SchemaRegistry(options.schemas, clock: clock)
    mapper = RowMapper(options.sources[0], number: 0, limits, sections, schemas)
  }

  /// `KEY VALUE` for each record, and the outcome.
  ///
  /// - Parameter isRekeyed: whether the record has the header of a primary key that changes.
  func callAsFunction(
    key: String?,
    _ value: String?,
    isRekeyed: Bool = false
  ) -> (records: [String], outcome: String) {
    map(key: key.map { Array($0.utf8) }, value.map { Array($0.utf8) }, isRekeyed)
  }

  func takesOrderWarning() -> Bool { mapper.takeOrderWarning() }

  func map(
    key: [UInt8]?,
    _ value: [UInt8]?,
    _ isRekeyed: Bool = false
  ) -> (records: [String], outcome: String) {
    func withSpan<Result>(_ bytes: [UInt8]?, _ body: (ByteSpan?) -> Result) -> Result {
      guard let bytes else { return body(nil) }
      return bytes.withUnsafeBytes { body(ByteSpan($0)) }
    }
    return withSpan(key) { key in
      withSpan(value) { value in
        let outcome =
          switch mapper.map(key: key, value: value, isRekeyed: { isRekeyed }) {
          case .upserted: "upserted"
          case .deleted: "deleted"
          case .filtered: "filtered"
          case .skipped: "skipped"
          case .rejected(let rejection): "\(rejection.code.rawValue): \(rejection.message)"
          case .unavailable(let reason): "unavailable: \(reason)"
          }
        let records = (0..<mapper.recordCount).map { index in
          let (key, value) = mapper.record(index)
          return "\(key.text) \(value?.text ?? "null")"
        }
        return (records, outcome)
      }
    }
  }
}
