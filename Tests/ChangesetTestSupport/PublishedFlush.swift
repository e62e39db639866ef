public import FeedStore
public import Oracle

/// A copy of everything that a flush publishes.
public struct PublishedFlush: Sendable, Equatable {
  public var parts: [PublishedPart] = []

  public init() {}

  public var records: [JudgedRecord] { parts.flatMap(\.records) }
  public var rejected: [RejectedRecord] { parts.flatMap(\.rejected) }
  public var covered: [CoveredPosition] { parts.flatMap(\.covered) }
  /// The records of each transaction.
  public var transactions: [[JudgedRecord]] {
    var transactions: [[JudgedRecord]] = [[]]
    for part in parts {
      transactions[transactions.count - 1] += part.records
      if part.endsTransaction, !part.isLast { transactions.append([]) }
    }
    return transactions
  }
  /// The values of the records as text; nil for a null.
  public var values: [String?] {
    records.map { $0.value.map { String(decoding: $0, as: UTF8.self) } }
  }
}
