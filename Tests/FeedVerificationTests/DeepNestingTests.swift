import Feed
import FeedTestSupport
import FeedVerification
import Oracle
import Testing

/// Deeper nesting than the protocol allows is a fault, on a thread with a small stack.
@Suite struct DeepNestingTests {
  private static let depth = 10_000

  /// A value nested that deep, of each kind.
  private static let values = [
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth),
    String(repeating: "{\"a\":", count: depth) + "1" + String(repeating: "}", count: depth),
    String(repeating: "[ {\"a\" :", count: depth / 2) + "null" + String(repeating: "} ]", count: depth / 2),
  ]

  private static let fields = [
    ("feed", "\"f\""), ("epoch", "\"t/0\""), ("revision", "1"), ("base", "0"), ("mode", "\"reload\""),
    ("reason", "\"initial\""), ("time", "\"2026-01-01T00:00:00.000Z\""), ("through", "{\"t\":0}"),
    ("checksum", "\"00000000\""),
  ]

  @Test(arguments: values)
  func `foreign nesting anywhere in a changeset is a fault`(value: String) throws {
    for name in Self.fields.map(\.0) + ["part", "parts", "sections", "items", "unknown"] {
      let fields = Self.fields.filter { $0.0 != name } + [(name, value)]
      let record = "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
      for key in ["k0/f", "d1/f"] {
        #expect(try SmallStack.run { faults(record, key) } > 0, "\(name)")
      }
    }
  }

  /// How many faults a verifier finds.
  private func faults(_ record: String, _ key: String) -> Int {
    let options = VerificationOptions(keyframes: KeyframePolicy(), output: OutputOptions())
    let verifier = ChangesetVerifier(options)
    return Array(record.utf8).withUnsafeBytes { value in
      Array(key.utf8).withUnsafeBytes { key in
        let location = VerificationLocation(source: 0, position: 1)
        let record = VerifiedRecord(
          key: ByteSpan(key),
          value: ByteSpan(value),
          headers: [],
          timestamp: nil,
          location: location
        )
        return verifier.check(record, in: 0).count + verifier.finish().count
      }
    }
  }
}
