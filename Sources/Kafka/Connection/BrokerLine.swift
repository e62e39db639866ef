/// One of librdkafka's messages about a broker.
struct BrokerLine {
  /// `ssl`, `sasl_plaintext` or `sasl_ssl`; empty for a client with neither, and for a coordinator.
  var scheme = ""
  /// Host and port.
  var broker: String
  /// What is said of it.
  var message: String
}

extension BrokerLine {
  /// Parses `[thrd:…]: ssl://HOST:PORT/ID: …`, `ssl://HOST:PORT/ID: …` and `GroupCoordinator: HOST:PORT: …`.
  ///
  /// - Returns: nil if the text names no broker.
  init?(_ text: String) {
    var text = KafkaLogText.parts(of: text).message[...]
    guard var end = text.firstRange(of: ": ") else { return nil }
    if !text[..<end.lowerBound].contains(":"), let next = text[end.upperBound...].firstRange(of: ": "),
      text[end.upperBound..<next.lowerBound].contains(":")
    {
      text = text[end.upperBound...]
      end = next
    }
    var name = text[..<end.lowerBound]
    if let mark = name.firstRange(of: "://") {
      scheme = String(name[..<mark.lowerBound])
      name = name[mark.upperBound...]
    }
    if let slash = name.lastIndex(of: "/") { name = name[..<slash] }
    broker = String(name)
    message = String(text[end.upperBound...])
  }
}
