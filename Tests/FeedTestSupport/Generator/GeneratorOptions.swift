public import Feed

/// The options of a `RecordGenerator`.
public struct GeneratorOptions: Sendable {
  /// The numbers of feed, section and item ids: small pools collide often. Beyond the built-in lists
  /// (`RecordGenerator.feedIDs` and so on), ids are numbered.
  public var feedCount = 3
  public var sectionCount = 4
  public var itemCount = 9
  public var partitionCount = 2
  public var topics = ["feeds.items", "feeds.sections"]
  /// The maximum number of events in a record.
  public var maxEvents = 5
  /// The percentage of records to be rejected, whatever the state.
  public var badPercent = 3
  /// The percentage of records with a null value.
  public var nullPercent = 2
  /// The percentage of records with a repeated offset.
  public var repeatedOffsetPercent = 1
  /// The limits that bad records exceed. `maxDataBytes`, `maxEvents` and `maxRecordBytes` are exceeded only if they are
  /// below 4096, because that takes large records.
  public var limits = Limits()
  /// Whether ids have only letters and digits, and data has no unusual spellings.
  public var isPlain = false
  /// The weights of the ops; the default is 4.
  public var weights: [OracleOp: Int] = [
    .feedReplace: 1, .feedClear: 1, .feedDelete: 1, .feedReload: 1, .sectionReplace: 3,
    .sectionDelete: 2, .sectionReload: 1, .itemUpsert: 14, .itemMove: 8, .itemPatch: 6,
  ]

  public init() {}
}
