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
}
