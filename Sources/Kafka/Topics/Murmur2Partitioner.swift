/// Chooses a record's partition from its key like the Java client's default partitioner.
///
/// librdkafka's own default (`consistent_random`, CRC32) would put a key into another partition than a Java producer
/// does. The hash is murmur2 with Kafka's seed. The partition is its value without the sign bit, modulo the number of
/// partitions.
///
/// Records with a null key go to partitions 0, 1, 2, … in turn, which is deterministic. (The Java client chooses
/// randomly, so no consumer can depend on the choice.) An empty key is a key.
public struct Murmur2Partitioner: Sendable {
  /// The number of partitions of the topic.
  public let partitionCount: Int32

  private var next: Int32 = 0

  /// - Parameter partitionCount: the number of partitions, at least 1.
  public init(partitionCount: Int32) {
    precondition(partitionCount > 0, "a topic has at least one partition, not \(partitionCount)")
    self.partitionCount = partitionCount
  }

  /// The partition of a record with this key; nil for a null key.
  public mutating func partition(forKey key: UnsafeRawBufferPointer?) -> Int32 {
    guard let key else {
      defer { next = (next + 1) % partitionCount }
      return next
    }
    return (Self.hash(key) & Int32.max) % partitionCount
  }

  /// The murmur2 hash of the bytes, as computed by `org.apache.kafka.common.utils.Utils.murmur2`.
  ///
  /// Austin Appleby's MurmurHash2, 32 bits, little endian, seed 0x9747b28c.
  public static func hash(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    let multiplier: UInt32 = 0x5bd1_e995
    var hash = 0x9747_b28c ^ UInt32(truncatingIfNeeded: bytes.count)

    let wordBytes = bytes.count & ~3
    for offset in stride(from: 0, to: wordBytes, by: 4) {
      var word = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      word &*= multiplier
      word ^= word >> 24
      word &*= multiplier
      hash &*= multiplier
      hash ^= word
    }

    if wordBytes < bytes.count {
      for offset in wordBytes..<bytes.count {
        hash ^= UInt32(bytes[offset]) << UInt32(8 * (offset - wordBytes))
      }
      hash &*= multiplier
    }

    hash ^= hash >> 13
    hash &*= multiplier
    hash ^= hash >> 15
    return Int32(bitPattern: hash)
  }
}
