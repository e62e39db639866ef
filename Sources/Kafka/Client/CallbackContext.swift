import CRdkafka

/// What librdkafka's callbacks reach through their opaque pointer.
///
/// Lives as long as the client does, to the end of its destruction, even if its owner is gone.
/// `log` is called on any thread; all the rest belongs to the owner's thread, as librdkafka serves those
/// callbacks only from calls that the owner makes.
final class CallbackContext {
  let log: KafkaLogHandler
  let faults: ConnectionFaults
  private let hasCertificate: Bool

  /// The consumer whose partitions are assigned and revoked; nil for a producer.
  weak var consumer: Consumer?

  /// Told what the client counts, if `statistics.interval.ms` has it counted.
  var onStatistics: ((ClientStatistics) -> Void)?

  /// Errors that came outside of any call, oldest first, until the owner takes them.
  var errors: [KafkaError] = []

  /// Records that could not be delivered, until the owner takes them.
  var deliveryErrors = DeliveryErrors()

  init(_ configuration: KafkaConfiguration, log: @escaping KafkaLogHandler) {
    self.log = log
    faults = configuration.connectionFaults ?? ConnectionFaults()
    hasCertificate = configuration.hasCertificate
  }

  /// Takes a line of librdkafka's log. Why a connection fails is said with the remedy.
  private func take(_ level: KafkaLogLevel, _ facility: String, _ text: String) {
    switch faults.read(facility, text, hasCertificate: hasCertificate) {
    case .other: log(level, facility, text)
    case .fault(let message?): log(.error, ConnectionFaults.facility, message)
    case .fault(nil): break
    }
  }

  /// Adds an error, and forgets the oldest when nobody takes them.
  func append(_ error: KafkaError) {
    if errors.count == Self.maxErrors {
      errors.removeFirst()
    }
    errors.append(error)
  }

  func takeErrors() -> [KafkaError] {
    if errors.isEmpty {
      return []
    }
    defer { errors = [] }
    return errors
  }

  static func from(_ opaque: UnsafeMutableRawPointer?) -> CallbackContext? {
    opaque.map { Unmanaged<CallbackContext>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Sets the callbacks that every client has.
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
      if let json, let onStatistics = CallbackContext.from(opaque)?.onStatistics {
        onStatistics(ClientStatistics(json: UnsafeRawBufferPointer(start: json, count: size)))
      }
      // The text stays librdkafka's.
      return 0
    }
    rd_kafka_conf_set_error_cb(configuration.pointer) { client, code, reason, opaque in
      guard let context = CallbackContext.from(opaque) else { return }
      // It comes beside the line of the log that has told of it.
      let text = reason.map { String(cString: $0) } ?? ""
      if context.faults.isKnown(text, hasCertificate: context.hasCertificate) { return }
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

  /// Has OpenSSL's reason noted for which a broker's certificate is refused: librdkafka does not say it.
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

  /// What librdkafka tries again by itself is a warning, as long as there is a broker left.
  private static func level(of error: KafkaError, _ code: Int32) -> KafkaLogLevel {
    if error.isFatal { return .critical }
    let isAlone = code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN.rawValue
    return error.isRetriable && !isAlone ? .warning : .error
  }

  private static let maxErrors = 64
}
