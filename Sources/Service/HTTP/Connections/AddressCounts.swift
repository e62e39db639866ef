/// How many connections or streams each address group has, and who makes room when all are taken.
struct AddressCounts: Sendable {
  private var counts: [String: Int] = [:]

  subscript(address: String) -> Int { counts[address] ?? 0 }

  mutating func add(_ address: String) { counts[address, default: 0] += 1 }

  mutating func remove(_ address: String) {
    let left = self[address] - 1
    counts[address] = left > 0 ? left : nil
  }

  /// Whether an address makes room for one more of another: it has more, also after that.
  func mustYield(_ address: String, to other: String) -> Bool { self[address] > self[other] + 1 }
}
