/// How a change is published: the only part of a changeset that can be open.
enum OracleChoice: Equatable {
  case delete
  case difference(OracleMoves)
  /// - Parameter weighing: the size of the difference, if it was considered.
  case reload(reason: String, OracleWeighing? = nil)
}
