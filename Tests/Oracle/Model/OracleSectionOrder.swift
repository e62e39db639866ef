/// The keys by which a section's items are ordered.
public struct OracleSectionOrder: Sendable, Equatable {
  /// One key: the value at a pointer in an item's data.
  public struct Key: Sendable, Equatable {
    public var pointer: OraclePointer
    public var isDescending: Bool
  }

  public var keys: [Key]

  /// An event's or a changeset's `order`; nil for `null`, and if it is invalid.
  public init?(_ json: OracleJSON) {
    guard let elements = json.elements, (1...4).contains(elements.count) || !keeps(.orderLength) else {
      return nil
    }
    keys = []
    for element in elements {
      let text = Self.member("by", of: element)?.string ?? (keeps(.keyHasPointer) ? nil : [])
      guard let text, let pointer = OraclePointer(text) else { return nil }
      if case .object(let members) = element.content, !keeps(.keyMembersIgnored) {
        guard members.allSatisfy({ ["by", "direction"].map { Array($0.utf8) }.contains($0.name) }) else {
          return nil
        }
      }
      switch Self.member("direction", of: element)?.content {
      case nil, .string(Array("ascending".utf8)): keys.append(Key(pointer: pointer, isDescending: false))
      case .string(Array("descending".utf8)): keys.append(Key(pointer: pointer, isDescending: true))
      default:
        if keeps(.directionKnown) { return nil }
        keys.append(Key(pointer: pointer, isDescending: false))
      }
    }
  }

  private static func member(_ name: String, of key: OracleJSON) -> OracleJSON? {
    if case .object(let members) = key.content, !keeps(.lastKeyMemberCounts) {
      return members.first { $0.name == Array(name.utf8) }?.value
    }
    return key.last(name)
  }

  /// The spelling in changesets.
  public var canonical: [UInt8] {
    var text = OracleText()
    text.addList(
      keys.map { key in
        var object = OracleText()
        object.add("{")
        let direction = Array((key.isDescending ? "descending" : "ascending").utf8)
        var members = [("by", key.pointer.text)]
        if key.isDescending || !keeps(.directionIfDescending) { members.append(("direction", direction)) }
        if !keeps(.pointerBeforeDirection) { members.reverse() }
        for (number, member) in members.enumerated() {
          object.addField(member.0, string: member.1, isFirst: number == 0)
        }
        object.add("}")
        return object.bytes
      }
    )
    return text.bytes
  }

  /// These items in this order.
  public func sorted(_ items: [OracleItem]) -> [OracleItem] {
    items.map { (item: $0, values: values(of: $0)) }.sorted { left, right in
      for (number, key) in keys.enumerated().prefix(keeps(.laterKeys) ? 4 : 1)
      where left.values[number] != right.values[number] {
        return left.values[number].comes(before: right.values[number], isDescending: key.isDescending)
      }
      if !keeps(.tiesByID) { return false }
      let isReversed = keys.contains(where: \.isDescending) && !keeps(.tiesAscending)
      let (first, second) = isReversed ? (right, left) : (left, right)
      return first.item.id.lexicographicallyPrecedes(second.item.id)
    }.map(\.item)
  }

  private func values(of item: OracleItem) -> [OracleSortValue] {
    // The data was valid JSON when it was stored.
    let data = try? OracleJSON.parse(item.data, maxDepth: .max)
    return keys.map { key in OracleSortValue(data.flatMap { key.pointer.value(in: $0) }) }
  }
}

/// The value of a key in an item's data, as far as it affects the order.
public enum OracleSortValue: Sendable, Equatable {
  case boolean(Bool)
  case number(OracleNumber)
  case string([UInt8])
  /// Missing, null, an array or an object.
  case other

  public init(_ json: OracleJSON?) {
    switch json?.content {
    case .boolean(let value): self = .boolean(value)
    case .number:
      let spelling = json?.minified ?? []
      let double = Double(String(decoding: spelling, as: UTF8.self)) ?? 0
      let number = OracleNumber(keeps(.numbersExact) ? spelling : Array("\(double)".utf8))
      self = keeps(.numbersByValue) ? .number(number) : .string(spelling)
    case .string(let decoded): self = .string(keeps(.stringsUnescaped) ? decoded : json?.minified ?? [])
    case .null: self = keeps(.nullIsNothing) ? .other : .boolean(false)
    case .array, .object: self = keeps(.containersAreNothing) ? .other : .string([0xFF])
    case nil: self = .other
    }
  }

  /// Whether an item with this value precedes one with the other.
  public func comes(before other: OracleSortValue, isDescending: Bool) -> Bool {
    if self == .other { return isDescending && !keeps(.nothingLast) }
    if other == .other { return !isDescending || keeps(.nothingLast) }
    return isDescending && keeps(.descendingReverses) ? other.isLess(than: self) : isLess(than: other)
  }

  private func isLess(than other: OracleSortValue) -> Bool {
    switch (self, other) {
    case (.boolean(let left), .boolean(let right)):
      left != keeps(.falseBeforeTrue) && right == keeps(.falseBeforeTrue)
    case (.number(let left), .number(let right)): left < right
    case (.string(let left), .string(let right)): Self.isLess(left, than: right)
    default: rank < other.rank
    }
  }

  private static func isLess(_ left: [UInt8], than right: [UInt8]) -> Bool {
    if keeps(.stringsByBytes) { return left.lexicographicallyPrecedes(right) }
    let units = [left, right].map { String(decoding: $0, as: UTF8.self).utf16 }
    return units[0].lexicographicallyPrecedes(units[1])
  }

  private var rank: Int {
    switch self {
    case .boolean: keeps(.booleansFirst) ? 0 : 4
    case .number: keeps(.numbersBeforeStrings) ? 1 : 3
    case .string: 2
    case .other: 3
    }
  }
}

extension OracleFeed {
  /// A section that is not in order, or exceeds its bound; nil if none.
  public var disorder: String? {
    for section in sections {
      let name = "section \(String(decoding: section.id, as: UTF8.self))"
      if section.surplus > 0 { return "\(name): \(section.surplus) items beyond its bound" }
      let ordered = section.orderedItems
      if section.items == ordered { continue }
      func ids(_ items: [OracleItem]) -> [String] { items.map { String(decoding: $0.id, as: UTF8.self) } }
      return "\(name): the items are \(ids(section.items)), expected \(ids(ordered))"
    }
    return nil
  }
}

/// The maximum numbers of items of sections.
public enum OracleKeep {
  /// An event's or a changeset's `keep`; nil for `null`, and if it is invalid.
  public static func number(_ json: OracleJSON) -> Int? {
    let text = String(decoding: json.minified, as: UTF8.self)
    let isDigits = json.minified.allSatisfy { (0x30...0x39).contains($0) }
    let value =
      isDigits || !keeps(.keepIsDigits) ? Double(text).flatMap { Int(exactly: $0.rounded(.down)) } : nil
    guard json.content == .number, let number = isDigits ? Int(text) : value,
      number >= 1 || !keeps(.keepPositive), number <= 2_147_483_647 || !keeps(.keepLimited)
    else { return nil }
    return number
  }
}
