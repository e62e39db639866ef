import CRdkafka

/// Which member of which generation of a group has read the offsets that a transaction commits.
///
/// Opaque: made by `Consumer.groupMetadata`, passed to `TransactionalProducer.sendOffsets`. It is a snapshot;
/// take a new one for every transaction, as an old generation is refused.
public final class ConsumerGroupMetadata {
  let pointer: OpaquePointer

  init(taking pointer: OpaquePointer) {
    self.pointer = pointer
  }

  deinit {
    rd_kafka_consumer_group_metadata_destroy(pointer)
  }

  /// What it says of the member; nil if librdkafka writes it in another way than it does today.
  ///
  /// A generation of -1 and an empty id together stand for no membership at all, and brokers then check none.
  var membership: (generation: Int32, memberID: String)? {
    var buffer: UnsafeMutableRawPointer?
    var size = 0
    if let error = rd_kafka_consumer_group_metadata_write(pointer, &buffer, &size) {
      rd_kafka_error_destroy(error)
      return nil
    }
    guard let buffer else { return nil }
    defer { rd_kafka_mem_free(nil, buffer) }
    let bytes = UnsafeRawBufferPointer(start: buffer, count: size)
    // A name, the generation in the machine's order, and texts that end with a zero: the group, the member.
    let start = Self.formatName.utf8.count
    guard bytes.starts(with: Self.formatName.utf8), size >= start + 4 else { return nil }
    let texts = bytes[(start + 4)...].split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    guard texts.count == 3 else { return nil }
    return (
      bytes.loadUnaligned(fromByteOffset: start, as: Int32.self), String(decoding: texts[1], as: UTF8.self)
    )
  }

  private static let formatName = "CGMDv2:"
}
