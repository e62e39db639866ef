/// Which sections and items a difference lists as moved.
struct OracleMoves: Equatable {
  var sections: Set<[UInt8]> = []
  /// Within a section and from one section to another.
  var items: Set<[UInt8]> = []
}
