import Testing

@testable import FeedKafka

struct ProcessIdentityTests {
  private func claim(_ group: String) -> String { ProcessIdentity(group: group).text }

  @Test func `concurrent processes have different identities, and a successor has its predecessor's`() {
    let group = "identity-\(UInt64.random(in: 0...UInt64.max))"
    var first: ProcessIdentity? = ProcessIdentity(group: group)
    let second = ProcessIdentity(group: group)
    let text = first?.text
    #expect(text?.hasSuffix("-0") == true)
    #expect(second.text.hasSuffix("-1"))
    #expect(first != second)
    #expect(claim(group).hasSuffix("-2"))
    first = nil
    withExtendedLifetime(second) { #expect(claim(group) == text) }
  }

  @Test func `groups with long names have different identities`() {
    let long = String(repeating: "g", count: 300)
    let first = ProcessIdentity(group: "a" + long + "\(UInt64.random(in: 0...UInt64.max))")
    #expect(first.text.hasSuffix("-0"))
  }
}
