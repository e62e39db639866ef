import CRdkafka
import Dispatch

/// A librdkafka client and the objects that must live as long as it does.
///
/// Destroying a client joins its threads and can hang on a dead network. It therefore runs on a separate thread, and
/// callers wait with a deadline.
final class ClientHandle {
  let client: OpaquePointer
  let context: CallbackContext
  private let opaque: Unmanaged<CallbackContext>
  private var isDestroyed = false

  /// Creates the client; `register` sets the callbacks that only this kind of client has.
  init(
    _ type: rd_kafka_type_t,
    _ configuration: KafkaConfiguration,
    log: @escaping KafkaLogHandler,
    register: (OpaquePointer) -> Void
  ) throws(KafkaError) {
    let handle = try ConfigurationHandle(configuration)
    let context = CallbackContext(configuration, log: log)
    let opaque = Unmanaged.passRetained(context)
    rd_kafka_conf_set_opaque(handle.pointer, opaque.toOpaque())
    CallbackContext.register(on: handle)
    if configuration["enable.ssl.certificate.verification"] != "false" {
      CallbackContext.registerVerification(on: handle)
    }
    if configuration.tokens != nil { TokenSource.register(on: handle) }
    register(handle.pointer)
    do {
      client = try handle.makeClient(type)
    } catch {
      opaque.release()
      throw error
    }
    if configuration.tokens != nil {
      rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(client))
    }
    self.context = context
    self.opaque = opaque
  }

  deinit { destroy(timeoutMilliseconds: 0) }

  /// Destroys the client. Its queues, topics and messages must have been released.
  ///
  /// - Returns: whether it was destroyed in time; otherwise the destruction continues in the background.
  @discardableResult
  func destroy(timeoutMilliseconds: Int32) -> Bool {
    if isDestroyed { return true }
    isDestroyed = true
    // No other code uses them from now on.
    nonisolated(unsafe) let (client, opaque) = (client, opaque)
    let isGone = DispatchSemaphore(value: 0)
    DispatchQueue(label: "librdkafka-destroy").async {
      // A consumer has left its group before this, with a deadline, so no callback runs on this thread.
      rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
      opaque.release()
      isGone.signal()
    }
    return isGone.wait(timeout: .now() + .milliseconds(Int(max(0, timeoutMilliseconds)))) == .success
  }

  /// Abandons a client that cannot be destroyed safely: it leaves its group, and stays in memory.
  func abandon() {
    isDestroyed = true
    _ = rd_kafka_unsubscribe(client)
  }

  /// Returns which of the topics exist, and their numbers of partitions.
  ///
  /// It requests all topics and filters the result, because requesting a topic by name can create it.
  ///
  /// - Parameter byName: for a consumer, whose requests create no topics: it requests only these, one after the other.
  func metadata(
    _ topics: [String],
    byName: Bool = false,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    let deadline = Deadline(milliseconds: timeoutMilliseconds)
    var result = TopicMetadata()
    if !byName { try ask(topics, deadline, into: &result) }
    for name in topics where byName {
      guard let topic = rd_kafka_topic_new(client, name, nil) else {
        throw .make(KafkaErrorCode(rd_kafka_last_error()), "read the metadata of \(name)")
      }
      defer { rd_kafka_topic_destroy(topic) }
      try ask([name], deadline, only: topic, into: &result)
    }
    result.missing = topics.filter { result.partitionCounts[$0] == nil }
    return result
  }

  /// Requests metadata, and returns the existing ones of the wanted topics.
  private func ask(
    _ topics: [String],
    _ deadline: Deadline,
    only topic: OpaquePointer? = nil,
    into result: inout TopicMetadata
  ) throws(KafkaError) {
    let action = "read the metadata of \(topics.joined(separator: ", "))"
    guard let metadata = try ask(action, deadline, only: topic) else { return }
    defer { rd_kafka_metadata_destroy(metadata) }
    context.faults.connected()

    let wanted = Set(topics)
    for answer in UnsafeBufferPointer(start: metadata.pointee.topics, count: Int(metadata.pointee.topic_cnt))
    {
      guard let name = answer.topic.map({ String(cString: $0) }), wanted.contains(name) else { continue }
      switch answer.err {
      case RD_KAFKA_RESP_ERR_NO_ERROR where answer.partition_cnt > 0:
        result.partitionCounts[name] = answer.partition_cnt
      case RD_KAFKA_RESP_ERR_NO_ERROR, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART: break
      default: throw .make(KafkaErrorCode(answer.err), "read the metadata of \(name)")
      }
    }
  }

  /// Requests the metadata of one topic, or of all. Ends before the deadline if no broker accepts the client.
  private func ask(
    _ action: String,
    _ deadline: Deadline,
    only topic: OpaquePointer?
  ) throws(KafkaError) -> UnsafePointer<rd_kafka_metadata>? {
    var slice = Self.firstSliceMilliseconds
    while true {
      var metadata: UnsafePointer<rd_kafka_metadata>?
      let timeout = min(max(1, deadline.remainingMilliseconds), slice)
      let code = rd_kafka_metadata(client, topic == nil ? 1 : 0, topic, &metadata, timeout)
      do throws(KafkaError) {
        try KafkaError.check(code, client: client, action)
        return metadata
      } catch {
        let explained = context.faults.explain(error, action)
        guard explained.isRetriable, !deadline.hasPassed else { throw explained }
        if explained.isConnectionFault {
          slice = Self.sliceMilliseconds
        } else {
          // A slow broker needs the whole time: for its response, or until it can be asked (`_TRANSPORT`).
          guard error.kind == .timedOut || error.kind == .transport, slice == Self.firstSliceMilliseconds
          else { throw explained }
          slice = .max
        }
      }
    }
  }

  private static let firstSliceMilliseconds: Int32 = 1_000
  private static let sliceMilliseconds: Int32 = 250

  /// The id of a client's cluster from the last metadata response; waits for one if there was none. nil if there is none in
  /// time, or the brokers are older than 0.10.
  static func clusterID(_ client: OpaquePointer, timeoutMilliseconds: Int32 = 0) -> String? {
    guard let text = rd_kafka_clusterid(client, timeoutMilliseconds) else { return nil }
    defer { rd_kafka_mem_free(client, text) }
    return String(cString: text)
  }
}

/// The common operations of consumers, producers and admin clients.
public class KafkaClient {
  /// nil after close.
  final var handle: ClientHandle?

  init(_ handle: ClientHandle) { self.handle = handle }

  /// Receives statistics on the client's thread if `statistics.interval.ms` is set: a consumer's inside `poll`, a producer's
  /// inside `poll`, `flush` and `commit`. Until one of these calls takes them, they wait in memory.
  public final var onStatistics: ((ClientStatistics) -> Void)? {
    get { handle?.context.onStatistics }
    set { handle?.context.onStatistics = newValue }
  }

  /// Returns which of the topics exist, and their numbers of partitions. Creates none.
  public final func metadata(
    _ topics: [String],
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicMetadata {
    _ = try client("read metadata")
    return try handle?.metadata(topics, timeoutMilliseconds: timeoutMilliseconds) ?? TopicMetadata()
  }

  /// Lists the members of a consumer group. A group that does not exist has no members.
  ///
  /// - Throws: the brokers' error, with the group's name; `_DESTROY` if the client is closed.
  public final func describeGroup(
    _ group: String,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [GroupMember] {
    let client = try client("describe group \(group)")
    return try GroupListing.members(client, of: group, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// The client, for one call.
  ///
  /// - Throws: `_DESTROY` if it is closed.
  final func client(_ action: @autoclosure () -> String) throws(KafkaError) -> OpaquePointer {
    guard let handle else { throw .make(.closed, action()) }
    return handle.client
  }
}

/// The time at which a blocking call must return.
struct Deadline {
  private let instant: ContinuousClock.Instant

  init(milliseconds: Int32) { instant = .now + .milliseconds(max(0, Int64(milliseconds))) }

  /// The remaining time in milliseconds, rounded up; 0 after the deadline.
  var remainingMilliseconds: Int32 {
    let remaining = ContinuousClock.Instant.now.duration(to: instant)
    guard remaining > .zero else { return 0 }
    let (seconds, attoseconds) = remaining.components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  var hasPassed: Bool { remainingMilliseconds == 0 }
}

/// Parses the text of librdkafka's log lines.
public enum KafkaLogText {
  /// Splits off the thread's name, with which librdkafka begins: `[thrd:broker:9092/1]: broker:9092/1: Connect …
  /// failed`.
  public static func parts(of message: String) -> (thread: String?, message: String) {
    let prefix = "[thrd:"
    guard message.hasPrefix(prefix), let end = message.firstRange(of: "]: ") else { return (nil, message) }
    let start = message.index(message.startIndex, offsetBy: prefix.count)
    return (String(message[start..<end.lowerBound]), String(message[end.upperBound...]))
  }
}

/// The C library behind the clients.
public enum Librdkafka {
  /// The version that is loaded, such as `2.0.2`. It may be newer than the one used for the build.
  public static var version: String { String(cString: rd_kafka_version_str()) }

  /// Whether clients drop brokers that metadata do not list, such as one that restarts; since 2.10.
  package static var dropsBrokers: Bool { rd_kafka_version() >= 0x020a_0000 }
}
