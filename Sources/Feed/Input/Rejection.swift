/// A record that cannot be applied: it changes nothing and goes to the rejected topic.
public struct Rejection: Error, Sendable, Equatable {
  public let code: RejectCode
  /// Names the event's number in an array (from 0), the field, and the value cut to a bound.
  public let message: String
  /// Elements that the record had removed with whole lists before it was rejected, and that were put back.
  public internal(set) var restoredElements = 0

  package init(_ code: RejectCode, _ message: String) {
    self.code = code
    self.message = message
  }

  /// A rejection for one field of one event.
  ///
  /// - Parameters:
  ///   - event: the event's number from 0 where the value is an array, else nil.
  ///   - problem: what is wrong and what is expected.
  ///   - found: what it is instead, for a message.
  init(_ code: RejectCode, event: Int?, field: StaticString, problem: String, found: String? = nil) {
    var message = event.map { "event \($0): " } ?? ""
    message += "field '\(field)' \(problem)"
    if let found { message += ", found \(found)" }
    self.init(code, message)
  }

  /// A rejection for one event as a whole, or for the record.
  ///
  /// - Parameters:
  ///   - event: the event's number from 0 where the value is an array, else nil.
  ///   - problem: what the event or the record would do.
  init(_ code: RejectCode, event: Int?, problem: String) {
    self.init(code, (event.map { "event \($0) " } ?? "the record ") + problem)
  }
}

/// Why a record was rejected: the codes of the protocol, section 2.9.
public enum RejectCode: String, Sendable, CaseIterable {
  case missingKey = "missing-key"
  case invalidUTF8 = "invalid-utf8"
  case invalidJSON = "invalid-json"
  case unknownOp = "unknown-op"
  case missingField = "missing-field"
  case invalidField = "invalid-field"
  case duplicateID = "duplicate-id"
  case unknownAnchor = "unknown-anchor"
  case unknownSection = "unknown-section"
  case orderedSection = "ordered-section"
  case limitExceeded = "limit-exceeded"
  /// A row that `feedstore ingest` cannot map; the store itself does not use it.
  case unmappable
}
