/// The fields of events without effect, unknown or belonging to other operations, with their counts.
///
/// Its memory is bounded for any input.
public struct IgnoredFields: Sendable {
  public struct Name: Hashable, Sendable {
    public let operation: String
    /// After the name of its object: `items.colour`. Long names are cut.
    public let field: String
  }

  public struct Field: Sendable {
    public let name: Name
    /// The number of occurrences.
    public fileprivate(set) var count = 0
    /// The first record with it.
    public fileprivate(set) var first: (partition: Int32, position: RecordPosition)?
    /// The field's own name, cut.
    fileprivate let bytes: [UInt8]
  }

  /// The object that contains a field.
  enum Parent: UInt8 {
    case event, place, items, sections, sectionItems

    var path: String { ["", "at.", "items.", "sections.", "sections.items."][Int(rawValue)] }
  }

  /// In the order of their first records; at most ``most``.
  public private(set) var fields: [Field] = []
  /// The number of occurrences of other fields.
  public private(set) var otherCount = 0
  /// The fields' numbers by operations, parents and hashes of names.
  private var numbers: [UInt64: Int] = [:]
  /// Whether the current record has a new field, whose place is not recorded yet.
  private(set) var hasUnlocated = false

  /// The maximum number of distinct fields.
  public static let most = 100
  private static let greatestByteCount = 64

  /// Counts a field.
  @inline(never)
  mutating func note(_ operation: Operation, _ parent: Parent, _ name: ByteSpan) {
    let name = name.prefix(atMost: IgnoredFields.greatestByteCount)
    let place = UInt64(operation.rawValue) << 8 | UInt64(parent.rawValue)
    let key = UInt64(ByteHash.of(name)) << 16 | place
    var number = numbers[key] ?? -1
    if number < 0, fields.count < IgnoredFields.most {
      number = fields.count
      numbers[key] = number
      let path = Name(operation: operation.name, field: parent.path + name.text)
      fields.append(Field(name: path, bytes: Array(name.buffer)))
      hasUnlocated = true
    } else if number >= 0, !fields[number].bytes.withUnsafeBytes({ ByteSpan($0).hasSameBytes(as: name) }) {
      number = -1
    }
    if number < 0 { otherCount += 1 } else { fields[number].count += 1 }
  }

  /// The number of occurrences by name; fields beyond the maximum share one name.
  public var counts: [Name: Int] {
    var counts = otherCount > 0 ? [Name(operation: "other", field: "other"): otherCount] : [:]
    // A field's own name may contain a dot.
    for field in fields { counts[field.name, default: 0] += field.count }
    return counts
  }

  /// Records the position of the record with the new fields.
  @inline(never)
  mutating func locate(_ partition: Int32, _ position: RecordPosition) {
    for number in fields.indices where fields[number].first == nil {
      fields[number].first = (partition, position)
    }
    hasUnlocated = false
  }
}
