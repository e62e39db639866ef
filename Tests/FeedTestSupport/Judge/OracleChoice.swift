/// How a change is published; the one thing about a changeset that may be open.
enum OracleChoice: Equatable {
  case delete
  case difference(OracleMoves)
  /// - Parameter weighing: what a difference would have come to, if it was asked.
  case reload(reason: String, OracleWeighing? = nil)
}
