/// The fields of events that have no effect, unknown ones and those of other operations, and how often they occurred.
///
/// Whatever names the input has, memory is bounded.
public struct IgnoredFields: Sendable {
  public struct Name: Hashable, Sendable {
    public let operation: String
    /// Behind what it is in: `items.colour`. Cut if it is long.
    public let field: String
  }

  public struct Field: Sendable {
    public let name: Name
    /// How often it occurred.
    public fileprivate(set) var count = 0
    /// The first record with it.
    public fileprivate(set) var first: (partition: Int32, position: RecordPosition)?
    /// Its own name, cut.
    fileprivate let bytes: [UInt8]
  }

  /// What a field is in.
  enum Parent: UInt8 {
    case event, place, items, sections, sectionItems

    var path: String { ["", "at.", "items.", "sections.", "sections.items."][Int(rawValue)] }
  }

  /// In the order of their first records; at most ``most``.
  public private(set) var fields: [Field] = []
  /// How often others occurred.
  public private(set) var otherCount = 0
  /// The fields' numbers by operations, parents and hashes of names.
  private var numbers: [UInt64: Int] = [:]
  /// Whether a record brought a field for the first time, and it is not said yet which.
  private(set) var hasUnlocated = false

  /// How many fields are distinguished.
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

  /// How often each occurred; those for which there was no room have one name.
  public var counts: [Name: Int] {
    var counts = otherCount > 0 ? [Name(operation: "other", field: "other"): otherCount] : [:]
    // A field's own name may have a dot.
    for field in fields { counts[field.name, default: 0] += field.count }
    return counts
  }

  /// Says which record brought the fields that are new.
  @inline(never)
  mutating func locate(_ partition: Int32, _ position: RecordPosition) {
    for number in fields.indices where fields[number].first == nil {
      fields[number].first = (partition, position)
    }
    hasUnlocated = false
  }
}
