/// Why a record could not be applied.
public struct ReplicaFault: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// The record's key is none of the changesets topic's.
    case invalidKey = "invalid-key"
    /// The value is not a changeset.
    case invalidChangeset = "invalid-changeset"
    /// An entry names what is not there, or is there already.
    case unknownElement = "unknown-element"
    /// An element is not where the changeset says.
    case position
    /// The result's checksum is not the changeset's.
    case checksum
    /// The records of a feed lack something, so that its state is not known.
    case incomplete
  }

  public let code: Code
  /// Names the feed, the revision and the entry, with what was expected and what was found.
  public let message: String
  /// The feed of an ``Code/incomplete`` fault.
  public let feed: String?

  init(_ code: Code, _ message: String, feed: String? = nil) {
    self.code = code
    self.message = message
    self.feed = feed
  }

  public var description: String { message }
}
