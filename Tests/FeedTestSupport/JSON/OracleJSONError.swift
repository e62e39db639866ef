/// Why bytes cannot be parsed as a JSON value.
public enum OracleJSONError: Error, Equatable {
  case invalidUTF8
  case invalidJSON
  /// Valid JSON, but nested deeper than allowed.
  case tooDeep(Int)
}
