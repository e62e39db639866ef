/// What a difference will amount to, counted from the touched elements without looking up a
/// position: enough to know early that a reload is certain.
struct DifferenceTally {
  /// Entries that are certain, other than reconfigures.
  var certainWeight = 0
  /// Elements that may turn out to have moved within their list.
  var possibleMoves = 0
  var reconfigureCount = 0
  /// Items that are in both states and changed their kind.
  var changedKindCount = 0
  /// Items that are in both states.
  var commonItemCount = 0

  var isEmpty: Bool { certainWeight == 0 && possibleMoves == 0 && reconfigureCount == 0 }
}
