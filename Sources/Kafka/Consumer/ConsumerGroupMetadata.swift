import CRdkafka

/// The member and generation of a group that has read the offsets to commit in a transaction.
///
/// Opaque: created by `Consumer.groupMetadata`, passed to `TransactionalProducer.sendOffsets`. It is a snapshot; create
/// a new one for every transaction, because brokers reject an old generation.
public final class ConsumerGroupMetadata {
  let pointer: OpaquePointer

  init(taking pointer: OpaquePointer) { self.pointer = pointer }

  deinit { rd_kafka_consumer_group_metadata_destroy(pointer) }

  /// The id of the member in the group; nil if it has none.
  public var memberID: String? {
    guard let id = membership?.memberID, !id.isEmpty else { return nil }
    return id
  }

  /// The generation and member id; nil if librdkafka's format is not the known one.
  ///
  /// A generation of -1 with an empty id means no membership; brokers then check nothing.
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
    // The format: its name, the generation in native byte order, then zero-terminated strings: group and member id.
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
