import Feed
import Testing

@testable import FeedVerification

@Suite struct KeyUseTests {
  private func take(_ key: String, _ due: inout NullsDue) -> Bool {
    Array(key.utf8).withUnsafeBytes { bytes in
      guard let key = RecordKey(ByteSpan(bytes)) else { return false }
      return due.take(key)
    }
  }

  @Test func `a reload leaves over the keys of the parts that it does not have`() {
    var keys = KeyUse()
    #expect(keys.noteReload(parts: 3, bytes: 300).isEmpty)
    #expect(keys.noteReload(parts: 1, bytes: 100) == 1..<3)
    #expect(keys.noteReload(parts: 2, bytes: 200).isEmpty)
  }

  @Test func `a deletion nulls the keys of the reload, then those of the deltas`() {
    var keys = KeyUse()
    _ = keys.noteReload(parts: 2, bytes: 200)
    for _ in 0..<3 { keys.noteDelta(bytes: 10) }
    _ = keys.noteReload(parts: 1, bytes: 100)
    keys.noteDelta(bytes: 10)
    var due = keys.deletion(isWhole: true)
    #expect(due.next == "k0/")
    #expect(!take("d1/f", &due) && !take("k1/f", &due))
    // The highest number that was ever used counts.
    for key in ["k0/f", "d1/f", "d2/f", "d3/f"] { #expect(take(key, &due), "\(key)") }
    #expect(due.isEmpty)

    var seen = keys.deletion(isWhole: false)
    #expect(take("k0/f", &seen) && take("d1/f", &seen) && seen.isEmpty)
  }

  @Test func `a keyframe is due when the deltas are many or long`() {
    var policy = KeyframePolicy()
    policy.maxDeltas = 2
    policy.maxBytesRatio = 1
    var keys = KeyUse()
    _ = keys.noteReload(parts: 1, bytes: 100)
    keys.noteDelta(bytes: 40)
    #expect(keys.keyframeReason(policy, keyframeBytes: 10) == nil)
    keys.noteDelta(bytes: 40)
    // As many, but shorter than the keyframe.
    #expect(keys.keyframeReason(policy, keyframeBytes: 81) == nil)
    #expect(keys.keyframeReason(policy, keyframeBytes: 80)?.hasPrefix("2 delta records") == true)
    keys.noteDelta(bytes: 21)
    #expect(keys.keyframeReason(policy, keyframeBytes: 1000)?.hasPrefix("101 bytes") == true)
  }
}
