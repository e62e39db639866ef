public import Feed

/// What a `RecordGenerator` makes.
public struct GeneratorOptions: Sendable {
  /// Feed ids, section ids and item ids in use: small pools collide often. At most the built-in
  /// lists' lengths count (`RecordGenerator.feedIDs` and so on); beyond, ids are numbered.
  public var feedCount = 3
  public var sectionCount = 4
  public var itemCount = 9
  public var partitionCount = 2
  public var topics = ["feeds.items", "feeds.sections"]
  /// Most events in one record that is an array.
  public var maxEvents = 5
  /// Records of a hundred that are to be rejected, whatever the state.
  public var badPercent = 3
  /// Records of a hundred with a null value.
  public var nullPercent = 2
  /// Records of a hundred whose offset was used before.
  public var repeatedOffsetPercent = 1
  /// The limits that bad records are to exceed. Those that would take a large record are only
  /// exceeded when they are small: `maxDataBytes`, `maxEvents` and `maxRecordBytes` below 4096.
  public var limits = Limits()
  /// Only ids of letters and digits, data without odd spellings.
  public var isPlain = false
  /// Weights of the ops; an op that is not named has weight 4.
  public var weights: [OracleOp: Int] = [
    .feedReplace: 1, .feedClear: 1, .feedDelete: 1, .feedReload: 1, .sectionReplace: 3,
    .sectionDelete: 2, .sectionReload: 1, .itemUpsert: 14, .itemMove: 8, .itemPatch: 6,
  ]

  public init() {}
}
