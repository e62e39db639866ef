import CRdkafka
import FoundationEssentials
import Glibc
import Synchronization

/// The state that librdkafka's callbacks reach through their opaque pointer.
///
/// It lives until the client has been destroyed, even if its owner is gone. `log` and `closedConnections` are used on any
/// thread. Everything else is used on the owner's thread only, because librdkafka runs those callbacks inside the owner's calls.
final class CallbackContext {
  let log: KafkaLogHandler
  let faults: ConnectionFaults
  let tokens: TokenSource?
  private let hasCertificate: Bool

  /// The consumer that receives rebalances; nil for a producer.
  weak var consumer: Consumer?

  /// Receives statistics, if `statistics.interval.ms` is set.
  var onStatistics: ((ClientStatistics) -> Void)?

  /// Errors reported outside of any call, oldest first, until the owner takes them.
  var errors: [KafkaError] = []

  /// The number of connections to brokers that were closed. Only a producer counts them.
  let closedConnections = Atomic(0)

  /// Failed deliveries, until the owner takes them.
  var deliveryErrors = DeliveryErrors()

  /// Receives the outcome of each delivery, if set.
  var onDelivery: ((_ number: Int, Result<Int64, KafkaError>) -> Void)?

  /// A partition of a topic's librdkafka handle.
  struct HandlePartition: Hashable {
    var topic: OpaquePointer
    var partition: Int32
  }

  /// The offset after the last delivered record of each partition.
  private(set) var deliveredEnds: [HandlePartition: Int64] = [:]

  init(_ configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) {
    self.log = log
    faults = configuration.connectionFaults ?? ConnectionFaults()
    tokens = configuration.tokens
    hasCertificate = configuration.hasCertificate
  }

  /// Handles a log line from librdkafka. Connection errors are logged with the remedy instead.
  private func take(_ level: KafkaLogLevel, _ facility: String, _ text: String) {
    switch faults.read(facility, text, hasCertificate: hasCertificate) {
    case .other: log(level, facility, text)
    case .fault(let message?): log(.error, ConnectionFaults.facility, message)
    case .fault(nil): break
    }
  }

  /// Adds an error. If too many are pending, the oldest is dropped.
  func append(_ error: KafkaError) {
    if errors.count == Self.maxErrors { errors.removeFirst() }
    errors.append(error)
  }

  /// Records the offset of a delivered record, if the broker reported it.
  func noteDelivery(of message: rd_kafka_message_t) {
    guard let topic = message.rkt, message.offset >= 0 else { return }
    deliveredEnds[HandlePartition(topic: topic, partition: message.partition)] = message.offset + 1
  }

  /// Logs that a broker delays its answers; 0 when it no longer does.
  func noteThrottling(by broker: String, milliseconds: Int32) {
    if milliseconds < Self.longThrottling { return }
    log(
      .warning,
      "THROTTLE",
      """
      broker \(broker) delays this client by \(milliseconds) ms, because its user or its client.id is over a quota; raise the \
      quota (kafka-configs --entity-type users or clients), or wait longer
      """
    )
  }

  func takeErrors() -> [KafkaError] {
    defer { errors = [] }
    return errors
  }

  static func from(_ opaque: UnsafeMutableRawPointer?) -> CallbackContext? {
    opaque.map { Unmanaged<CallbackContext>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Sets the callbacks that every client needs.
  static func register(on configuration: borrowing ConfigurationHandle) {
    rd_kafka_conf_set_log_cb(configuration.pointer) { client, level, facility, text in
      guard let client, let context = CallbackContext.from(rd_kafka_opaque(client)) else { return }
      context.take(
        KafkaLogLevel(rawValue: level) ?? .debug,
        facility.map { String(cString: $0) } ?? "",
        text.map { String(cString: $0) } ?? ""
      )
    }
    rd_kafka_conf_set_stats_cb(configuration.pointer) { _, json, size, opaque in
      if let json, let context = CallbackContext.from(opaque), let onStatistics = context.onStatistics {
        do {
          onStatistics(try ClientStatistics(json: Data(bytes: json, count: size)))
        } catch {
          context.log(.warning, "STATS", "cannot read the client's statistics: \(error)")
        }
      }
      // 0: librdkafka keeps ownership of the text.
      return 0
    }
    rd_kafka_conf_set_throttle_cb(configuration.pointer) { _, broker, _, milliseconds, opaque in
      guard let broker, let context = CallbackContext.from(opaque) else { return }
      context.noteThrottling(by: String(cString: broker), milliseconds: milliseconds)
    }
    rd_kafka_conf_set_error_cb(configuration.pointer) { client, code, reason, opaque in
      guard let context = CallbackContext.from(opaque) else { return }
      // librdkafka reports this in addition to the log line for the same error.
      let text = reason.map { String(cString: $0) } ?? ""
      if context.faults.isKnown(text, hasCertificate: context.hasCertificate) { return }
      if text.hasPrefix("Failed to acquire SASL OAUTHBEARER token") {
        // From a source of tokens it has been logged; without one, librdkafka obtains tokens itself (OIDC).
        if context.tokens == nil { context.log(.error, TokenSource.facility, text) }
        return
      }
      if code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.rawValue, context.faults.isFaulty { return }
      let error = KafkaError.make(
        KafkaErrorCode(rawValue: code),
        "keep the client working",
        detail: text,
        client: client
      )
      context.log(CallbackContext.level(of: error, code), error.code, error.message)
      context.append(error)
    }
  }

  /// Counts the connections that librdkafka closes.
  static func registerClosing(on configuration: OpaquePointer) {
    rd_kafka_conf_set_closesocket_cb(configuration) { socket, opaque in
      CallbackContext.from(opaque)?.closedConnections.add(1, ordering: .relaxed)
      return close(socket)
    }
  }

  /// Records why OpenSSL rejected a broker's certificate, which librdkafka does not report.
  static func registerVerification(on configuration: borrowing ConfigurationHandle) {
    rd_kafka_conf_set_ssl_cert_verify_cb(configuration.pointer) {
      client,
      broker,
      _,
      number,
      _,
      _,
      _,
      _,
      _,
      _ in
      guard let number, number.pointee != 0 else { return 1 }
      if let client, let broker, let context = CallbackContext.from(rd_kafka_opaque(client)) {
        context.faults.note(certificateError: number.pointee, of: String(cString: broker))
      }
      return 0
    }
  }

  /// Errors that librdkafka retries by itself are warnings, as long as a broker is reachable.
  private static func level(of error: KafkaError, _ code: Int32) -> KafkaLogLevel {
    if error.isFatal { return .critical }
    let isAlone = code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.rawValue
    return error.isRetriable && !isAlone ? .warning : .error
  }

  private static let maxErrors = 64
  /// In milliseconds.
  private static let longThrottling: Int32 = 100
}
