extension PublishedFeed {
  /// Computes the difference that a flush would, without planning or encoding it, and counts its
  /// entries. Changes nothing.
  @_spi(Measuring)
  public func differenceCounts() -> PublicationOutcome.EntryCounts {
    _ = state.tally()
    return ChangesetPublisher.counts(state.difference())
  }
}
