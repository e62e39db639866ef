/// An event's `at`.
public enum OraclePlace: Sendable, Equatable {
  case first
  case last
  case before([UInt8])
  case after([UInt8])
  case index(Int)

  /// The position for an element in a list without it; nil if the anchor is not in the list.
  func position(in others: [[UInt8]]) -> Int? {
    switch self {
    case .first: 0
    case .last: others.count
    case .before(let anchor): others.firstIndex(of: anchor)
    case .after(let anchor): others.firstIndex(of: anchor).map { $0 + 1 }
    case .index(let index): min(index, others.count)
    }
  }
}
