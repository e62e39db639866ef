/// The codes of rejected records.
public enum OracleRejectCode: String, Sendable, CaseIterable {
  case missingKey = "missing-key"
  case invalidUTF8 = "invalid-utf8"
  case invalidJSON = "invalid-json"
  case unknownOp = "unknown-op"
  case missingField = "missing-field"
  case invalidField = "invalid-field"
  case duplicateID = "duplicate-id"
  case unknownAnchor = "unknown-anchor"
  case unknownSection = "unknown-section"
  case limitExceeded = "limit-exceeded"
}
