/// What a difference comes to: its weight, and its bytes as one value. Both depend on which elements are said to have
/// moved.
struct OracleWeighing: Equatable {
  var weight: Int
  var bytes: Int
}
