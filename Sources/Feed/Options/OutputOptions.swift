/// How changesets are written.
public struct OutputOptions: Sendable, Equatable {
  /// Longest value of one output record, in bytes; a longer changeset is split into parts.
  public var maxMessageBytes = 900_000
  /// The `ce_source` header of every changeset.
  public var source = "/feedstore"

  public init() {}
}
