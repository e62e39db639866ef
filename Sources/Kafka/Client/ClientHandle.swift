import CRdkafka

/// A librdkafka client and what must live as long as it.
///
/// Destroying a client joins its threads and can hang on a dead network, so it happens on a thread of its own,
/// and whoever waits for it does so with a deadline.
final class ClientHandle {
  let client: OpaquePointer
  let context: CallbackContext
  private let opaque: Unmanaged<CallbackContext>
  private var isDestroyed = false

  /// Makes the client; `register` sets the callbacks that only this kind of client has.
  init(
    _ type: rd_kafka_type_t,
    _ configuration: KafkaConfiguration,
    log: @escaping KafkaLogHandler,
    register: (OpaquePointer) -> Void
  ) throws(KafkaError) {
    let handle = try ConfigurationHandle(configuration)
    let context = CallbackContext(log: log)
    let opaque = Unmanaged.passRetained(context)
    rd_kafka_conf_set_opaque(handle.pointer, opaque.toOpaque())
    CallbackContext.register(on: handle)
    register(handle.pointer)
    do {
      client = try handle.makeClient(type)
    } catch {
      opaque.release()
      throw error
    }
    self.context = context
    self.opaque = opaque
  }

  deinit {
    destroy(timeoutMilliseconds: 0)
  }

  /// Destroys the client; what it owns (queues, topics, messages) must be gone before.
  ///
  /// - Returns: whether it was gone in time; otherwise its destruction goes on in the background.
  @discardableResult
  func destroy(timeoutMilliseconds: Int32) -> Bool {
    if isDestroyed {
      return true
    }
    isDestroyed = true
    return ClientDestruction(client: client, context: opaque).run(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Asks the brokers which of the topics exist and how many partitions they have.
  func metadata(_ topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> TopicMetadata {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    var result = TopicMetadata()
    for topic in topics {
      let action = "read the metadata of topic \(topic)"
      guard let handle = rd_kafka_topic_new(client, topic, nil) else {
        throw .make(KafkaErrorCode(rd_kafka_last_error()), action)
      }
      defer { rd_kafka_topic_destroy(handle) }
      var metadata: UnsafePointer<rd_kafka_metadata>?
      let code = rd_kafka_metadata(client, 0, handle, &metadata, max(1, deadline.remainingMilliseconds))
      try KafkaError.check(code, client: client, action)
      guard let metadata else { continue }
      defer { rd_kafka_metadata_destroy(metadata) }
      guard metadata.pointee.topic_cnt > 0 else {
        result.missing.append(topic)
        continue
      }
      let answer = metadata.pointee.topics[0]
      switch answer.err {
      case RD_KAFKA_RESP_ERR_NO_ERROR where answer.partition_cnt > 0:
        result.partitionCounts[topic] = answer.partition_cnt
      case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
        RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        result.missing.append(topic)
      default:
        throw .make(KafkaErrorCode(answer.err), action)
      }
    }
    return result
  }
}
