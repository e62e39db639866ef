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
    case .first: keeps(.atFirst) ? 0 : others.count
    case .last: keeps(.atLast) ? others.count : 0
    case .before(let anchor): others.firstIndex(of: anchor).map { keeps(.atBefore) ? $0 : $0 + 1 }
    case .after(let anchor): others.firstIndex(of: anchor).map { keeps(.atAfter) ? $0 + 1 : $0 }
    case .index(let index): index <= others.count ? index : keeps(.atPastEnd) ? others.count : nil
    }
  }
}
