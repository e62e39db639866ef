public import FeedStore

extension FeedStore {
  /// Publishes what waits, in as many transactions as that takes.
  ///
  /// - Parameter source: the header `ce_source`.
  public func published(source: String = "feedstore") -> PublishedFlush {
    var flush = PublishedFlush()
    var part = beginFlush()
    while true {
      flush.parts.append(PublishedPart(part, source: source))
      if part.endsTransaction { confirm() }
      if part.isLast { return flush }
      part = nextPart()
    }
  }

  /// Begins to publish what waits, and withdraws it when a part ends a transaction.
  ///
  /// - Parameters:
  ///   - source: the header `ce_source`.
  ///   - count: how many parts are looked at, at most.
  public func withdrawn(source: String = "feedstore", parts count: Int = .max) -> PublishedFlush {
    var flush = PublishedFlush()
    var part = beginFlush()
    while true {
      flush.parts.append(PublishedPart(part, source: source))
      if part.endsTransaction || flush.parts.count == count { break }
      part = nextPart()
    }
    rollBack()
    return flush
  }
}
