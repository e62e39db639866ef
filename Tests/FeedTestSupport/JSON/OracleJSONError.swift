/// Why bytes are no JSON value that can be looked at.
public enum OracleJSONError: Error, Equatable {
  case invalidUTF8
  case invalidJSON
  /// Valid JSON, nested this deep, which is deeper than was allowed.
  case tooDeep(Int)
}
