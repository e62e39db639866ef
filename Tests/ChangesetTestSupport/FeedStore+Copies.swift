public import FeedStore

extension FeedStore {
  /// Publishes the waiting changes, in as many transactions as that takes.
  ///
  /// - Parameter source: the header `ce_source`.
  public func published(source: String = "feedstore") -> PublishedFlush {
    var copy = PublishedFlush()
    publish { part in copy.parts.append(PublishedPart(part, source: source)) }
    return copy
  }

  /// Begins to publish the waiting changes, and withdraws it when a part ends a transaction.
  ///
  /// - Parameters:
  ///   - source: the header `ce_source`.
  ///   - count: how many parts are looked at, at most.
  public func withdrawn(source: String = "feedstore", parts count: Int = .max) -> PublishedFlush {
    var copy = PublishedFlush()
    var flush = beginFlush()
    repeat {
      copy.parts.append(nextPart(of: &flush, source: source))
    } while !flush.isAtEndOfTransaction && copy.parts.count < count
    rollBack(flush)
    return copy
  }

  /// Prepares the next part of a flush, and copies it.
  ///
  /// - Parameter source: the header `ce_source`.
  public func nextPart(of flush: inout Flush, source: String = "feedstore") -> PublishedPart {
    prepareNextPart(of: &flush)
    return withPart(of: flush) { PublishedPart($0, source: source) }
  }
}
