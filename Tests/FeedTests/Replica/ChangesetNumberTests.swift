import Testing

@testable import Feed

/// Numbers of changesets that readers accept.
struct ChangesetNumberTests {
  private func outcome(_ number: String, in text: String) throws -> ReplicaOutcome {
    try withSpan("k0/f") { key in
      try withSpan(text.replacing("NUMBER", with: number)) { value in
        try ReplicaPartition().apply(key: key, value: value)
      }
    }
  }

  private func head(
    revision: String = "1",
    base: String = "0",
    parts: String = "",
    through: String = "1"
  ) -> String {
    #"{"feed":"f","epoch":"t/0","revision":\#(revision),"base":\#(base)\#(parts),"mode":"reload","#
      + #""reason":"requested","time":"2026-01-01T00:00:00.000Z","through":{"t":\#(through)},"checksum":"00000000"}"#
  }

  @Test(arguments: ["0", "1", "9007199254740991"])
  func `a revision that every reader has exactly is taken`(number: String) throws {
    guard case .applied = try outcome(number, in: head(revision: "NUMBER", base: "NUMBER")) else {
      Issue.record("not applied")
      return
    }
  }

  @Test(arguments: [
    "9007199254740992", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-1", "1.0",
    "1e3",
    "\"1\"", "null", String(repeating: "9", count: 5_000),
  ])
  func `any other revision or base is refused`(number: String) {
    for text in [head(revision: "NUMBER"), head(base: "NUMBER")] {
      #expect { try outcome(number, in: text) } throws: {
        ($0 as? ReplicaFault)?.code == .invalidChangeset
      }
    }
  }

  @Test(arguments: [
    ("0", "1000002"), ("0", "9223372036854775807"), ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775806", "9223372036854775807"), ("0", "18446744073709551617"), ("1", "1"), ("-1", "2"),
    ("0", "0"), ("0", "-1"),
  ])
  func `parts that no feed has are refused`(part: String, parts: String) {
    #expect { try outcome("", in: head(parts: #","part":\#(part),"parts":\#(parts)"#)) } throws: {
      ($0 as? ReplicaFault)?.code == .invalidChangeset
    }
  }

  @Test func `as many parts as keys have numbers for are waited for, and take no memory before`() throws {
    let outcome = try outcome("", in: head(parts: #","part":0,"parts":1000001"#))
    #expect(outcome == .waitingForParts(received: 1, of: 1_000_001))
  }

  @Test func `offsets go to the end of their range`() throws {
    guard case .applied = try outcome("9007199254740991", in: head(through: "NUMBER")) else {
      Issue.record("not applied")
      return
    }
    for number in ["9007199254740992", "9223372036854775807", "9223372036854775808"] {
      #expect(throws: ReplicaFault.self) { try outcome(number, in: head(through: "NUMBER")) }
    }
  }
}
