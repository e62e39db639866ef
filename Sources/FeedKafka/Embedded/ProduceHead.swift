/// The beginning of a request to write, as far as it says whether the broker answers.
enum ProduceHead {
  /// Versions from this one on name the transaction.
  private static let firstTransactional: UInt32 = 3
  /// Versions from this one on have another form, which the embedded broker does not know.
  private static let firstFlexible: UInt32 = 9

  /// Whether the broker is to answer; false also where that cannot be told.
  ///
  /// - Parameter body: what follows the correlation id.
  static func wantsAnswer(version: UInt32, _ body: [UInt8]) -> Bool {
    guard version < firstFlexible, var position = end(ofStringAt: 0, body) else { return false }
    if version >= firstTransactional {
      guard let end = end(ofStringAt: position, body) else { return false }
      position = end
    }
    // The acknowledgements: none, the leader's, or those of all.
    guard let acknowledgements = number(at: position, body) else { return false }
    return acknowledgements != 0
  }

  /// A string is its length, -1 for none, and its bytes.
  private static func end(ofStringAt position: Int, _ body: [UInt8]) -> Int? {
    number(at: position, body).map { position + 2 + max(0, Int($0)) }
  }

  private static func number(at position: Int, _ body: [UInt8]) -> Int16? {
    guard position + 2 <= body.count else { return nil }
    return Int16(bitPattern: UInt16(body[position]) << 8 | UInt16(body[position + 1]))
  }
}
