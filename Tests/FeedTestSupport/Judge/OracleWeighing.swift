/// The size of a difference: its weight, and its bytes as one value. Both depend on the chosen moves.
struct OracleWeighing: Equatable {
  var weight: Int
  var bytes: Int
}
