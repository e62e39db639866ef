import Testing

@testable import Feed

struct RecordKeyTests {
  private func number(_ key: String) -> Int? { withSpan(key) { RecordKey($0)?.number } }

  @Test(arguments: [
    ("k0/a", 0), ("k1/a", 1), ("d1/a", 1), ("d10/a/b", 10), ("k1000000/a", 1_000_000),
    ("d1000000/a", 1_000_000), ("d999999/ ", 999_999),
  ])
  func `numbers up to the bound are read`(key: String, expected: Int) {
    #expect(number(key) == expected)
  }

  @Test(arguments: [
    "", "/", "k", "k0", "k0/", "k/a", "d/a", "x0/a", "K0/a", "k-1/a", "k+1/a", "k 1/a", "k1 /a", "k0x1/a",
    "k1.0/a",
    "d0/a", "d00/a", "k00/a", "k01/a", "d01/a", "d1000001/a", "k1000001/a", "d30000000/a", "d9999999999/a",
    "k9223372036854775807/a", "k9223372036854775808/a", "d18446744073709551617/a",
    "d" + String(repeating: "9", count: 100) + "/a", "d\u{661}/a",
  ])
  func `every other key is none`(key: String) {
    #expect(number(key) == nil)
  }
}
