/// How a change is published; the one thing about a changeset that may be open.
enum OracleChoice: Equatable {
  case delete
  case difference(OracleMoves)
  case reload(reason: String)
}
