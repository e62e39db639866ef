public import Feed

/// What a store has counted since it was created.
public struct StoreCounters: Sendable, Equatable {
  public var records = 0
  public var events = 0
  /// Bytes of the records' keys and values.
  public var inputBytes = 0
  /// Published changesets by mode.
  public var changesets: [ChangesetMode: Int] = [:]
  /// Published reloads by reason, keyframes included.
  public var reloads: [ReloadReason: Int] = [:]
  /// Entries of the published differences, by kind.
  public var entries = PublicationOutcome.EntryCounts()
  public var rejects: [RejectCode: Int] = [:]
  public var noOps: [NoOpReason: Int] = [:]
  /// Records written to the changesets topic, nulls included.
  public var outputRecords = 0
  /// Bytes of their keys and values.
  public var outputBytes = 0
  public var flushes = 0

  public init() {}

  /// Copies the counters of published changesets, and leaves those of the input.
  mutating func takePublished(from other: StoreCounters) {
    changesets = other.changesets
    reloads = other.reloads
    entries = other.entries
    outputRecords = other.outputRecords
    outputBytes = other.outputBytes
    flushes = other.flushes
  }

  /// Records that were rejected.
  public var rejectedRecords: Int { rejects.values.reduce(0, +) }
  /// Published changesets, without keyframes.
  public var publishedChangesets: Int { changesets.values.reduce(0, +) }
}
