extension FeedStore {
  /// Publishes everything that waits, in as many transactions as that takes.
  ///
  /// - Parameter body: receives one part after another. When it returns from a part that ends a transaction, the parts
  ///   up to it count as published. If it throws, the rest is rolled back.
  public func publish<Failure: Error>(
    _ body: (borrowing Publication) throws(Failure) -> Void
  ) throws(Failure) {
    var flush = beginFlush()
    while true {
      prepareNextPart(of: &flush)
      do throws(Failure) {
        try withPart(of: flush, body)
      } catch {
        rollBack(flush)
        throw error
      }
      guard flush.isAtEndOfTransaction else { continue }
      guard let rest = confirm(flush) else { return }
      flush = rest
    }
  }
}
