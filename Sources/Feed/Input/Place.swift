/// Where an element goes in its list, counted without the element itself.
enum Place {
  case first
  case last
  case before(ByteSpan)
  case after(ByteSpan)
  /// Past the end means last.
  case index(Int)
}
