/// The head of a produce request, parsed as far as needed to know whether the broker answers.
enum ProduceHead {
  /// Versions from this one include the transactional id.
  private static let firstTransactional: UInt32 = 3
  /// Versions from this one have another encoding, which the embedded broker does not support.
  private static let firstFlexible: UInt32 = 9

  /// Whether the broker will answer; false if that cannot be determined.
  ///
  /// - Parameter body: the bytes after the correlation id.
  static func wantsAnswer(version: UInt32, _ body: [UInt8]) -> Bool {
    guard version < firstFlexible, var position = end(ofStringAt: 0, body) else { return false }
    if version >= firstTransactional {
      guard let end = end(ofStringAt: position, body) else { return false }
      position = end
    }
    // `acks`: 0, 1 (the leader) or -1 (all replicas).
    guard let acknowledgements = number(at: position, body) else { return false }
    return acknowledgements != 0
  }

  /// The position after a string: its length (-1 for null) and its bytes.
  private static func end(ofStringAt position: Int, _ body: [UInt8]) -> Int? {
    number(at: position, body).map { position + 2 + max(0, Int($0)) }
  }

  private static func number(at position: Int, _ body: [UInt8]) -> Int16? {
    guard position + 2 <= body.count else { return nil }
    return Int16(bitPattern: UInt16(body[position]) << 8 | UInt16(body[position + 1]))
  }
}
