/// A record that cannot be applied: it changes nothing and goes to the rejected topic.
public struct Rejection: Error, Sendable, Equatable {
  public let code: RejectCode
  /// The message: the event's number in an array (from 0), the field, and the value, cut.
  public private(set) var message: String
  /// The number of elements that the record's whole lists had removed, and that were put back.
  public internal(set) var restoredElements = 0

  package init(_ code: RejectCode, _ message: String) {
    self.code = code
    self.message = message
  }

  /// A rejection for one field of an event.
  ///
  /// - Parameters:
  ///   - problem: the problem and the expected value.
  ///   - found: the value found, for a message.
  init(_ code: RejectCode, field: String, _ problem: String, found: String? = nil) {
    self.init(code, "field '\(field)' \(problem)" + (found.map { ", found \($0)" } ?? ""))
  }

  /// The same rejection with the number, from 0, of an event in an array.
  func inEvent(_ number: Int) -> Rejection {
    let event = "event \(number)"
    let record = "the record"
    var rejection = self
    rejection.message =
      message.hasPrefix(record) ? event + message.dropFirst(record.count) : "\(event): \(message)"
    return rejection
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
  case conditionFailed = "condition-failed"
  case limitExceeded = "limit-exceeded"
  /// A row that `feedstore ingest` cannot map; the store itself does not use it.
  case unmappable
}
