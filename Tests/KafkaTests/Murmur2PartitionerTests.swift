import Kafka
import Testing

struct Murmur2PartitionerTests {
  /// From the tests of Kafka's Java client.
  @Test(
    arguments: [
      ("21", -973_932_308),
      ("foobar", -790_332_482),
      ("a-little-bit-long-string", -985_981_536),
      ("a-little-bit-longer-string", -1_486_304_829),
      ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971),
      ("abc", 479_470_107),
    ] as [(String, Int32)]
  )
  func `hashes as the Java client does`(key: String, expected: Int32) {
    let hash = Array(key.utf8).withUnsafeBytes { Murmur2Partitioner.hash($0) }
    #expect(hash == expected)
  }

  @Test func `drops the sign, not the absolute value, before the modulo`() {
    // -973932308 without its sign bit is 1173551340.
    var partitioner = Murmur2Partitioner(partitionCount: 1_000)
    #expect(withBytes("21") { partitioner.partition(forKey: $0) } == 340)
  }

  @Test func `gives null keys the partitions in turn, and empty keys always the same`() {
    var partitioner = Murmur2Partitioner(partitionCount: 3)
    let empty = withBytes("") { partitioner.partition(forKey: $0) }
    #expect((0..<7).map { _ in partitioner.partition(forKey: nil) } == [0, 1, 2, 0, 1, 2, 0])
    #expect(withBytes("") { partitioner.partition(forKey: $0) } == empty)
  }
}
