/// Which sections and items a difference lists as moved.
struct OracleMoves: Equatable {
  var sections: Set<[UInt8]> = []
  /// Items that moved within a section or to another one.
  var items: Set<[UInt8]> = []
}
