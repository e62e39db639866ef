/// What a feed published in a flush, for the counters.
public struct PublicationOutcome: Sendable, Equatable {
  public var mode: ChangesetMode
  public var reason: ReloadReason?
  public var counts = EntryCounts()

  /// Entries of sections and items by kind. A reload has none.
  public struct EntryCounts: Sendable, Equatable {
    public var deletes = 0
    public var inserts = 0
    public var moves = 0
    public var reconfigures = 0
    public var reloads = 0

    public init() {}
  }
}
