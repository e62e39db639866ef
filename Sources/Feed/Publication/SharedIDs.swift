/// The ids that several partitions have. The feeds are separate, and always a mistake of producers: they choose the
/// partition of a key by different rules (protocol, section 10.1).
package struct SharedIDs: Sendable {
  /// What the message of ``takeNews()`` is logged as.
  package static let facility = "FEEDID"

  private var partitions: [ByteText: Set<Int32>] = [:]
  /// Those that were not reported yet.
  private var news: [ByteText] = []

  package init() {}

  /// The number of such ids.
  package var count: Int { partitions.count }

  /// Records which partitions have an id now.
  package mutating func note(_ id: ByteText, in numbers: some Sequence<Int32>) {
    let numbers = Set(numbers)
    if numbers.count < 2 {
      partitions[id] = nil
    } else if partitions.updateValue(numbers, forKey: id) == nil {
      news.append(id)
    }
  }

  /// Records that a partition is gone.
  package mutating func remove(_ number: Int32) {
    for (id, numbers) in partitions where numbers.contains(number) {
      note(id, in: numbers.subtracting([number]))
    }
  }

  /// A message for each id that several partitions have had since the last call, sorted by the bytes of the ids: the order in
  /// which they are found while feeds are restored is that of a hash table.
  package mutating func takeNews() -> [String] {
    defer { news = [] }
    return news.sorted().compactMap { id in
      partitions[id].map {
        "feed \(id.quotedForMessage) is in the partitions \(Self.list($0)): \(Self.meaning)"
      }
    }
  }

  /// Numbers of partitions as text.
  package static func list(_ numbers: some Sequence<Int32>) -> String {
    numbers.sorted().map { String($0) }.joined(separator: ", ")
  }

  package static let meaning =
    "these are separate feeds with the same id, because producers choose its partition by different rules"
}
