/// What a changeset changed, without the content: that is in the view. `deletes` and `from` count before the change, all other
/// positions after it. Items that are deleted with their section are not listed.
public struct FeedChange: Hashable, Sendable {
  public enum Mode: String, Sendable { case reconfigure, diff, reload }

  public let epoch: String
  public let revision: Int
  /// The revision that it applies to; a reload applies to any.
  public let base: Int
  public let mode: Mode
  /// Why it is a reload.
  public let reason: String?
  /// RFC 3339.
  public let time: String
  /// Empty for a reload: everything must be shown again.
  public var sections = Entries<SectionID, Int>()
  public var items = Entries<ItemID, ItemPlace>()

  /// The entries of sections or of items.
  public struct Entries<ID: Hashable & Sendable, Place: Hashable & Sendable>: Hashable, Sendable {
    public var deletes: [Entry] = []
    public var inserts: [Entry] = []
    public var moves: [Move] = []
    /// New data, the same cell; of a section also another order or bound.
    public var reconfigures: [Entry] = []
    /// Another cell.
    public var reloads: [Entry] = []

    public struct Entry: Hashable, Sendable {
      public let id: ID
      public let place: Place
    }

    public struct Move: Hashable, Sendable {
      public let id: ID
      public let from: Place
      public let to: Place
    }
  }

  public struct ItemPlace: Hashable, Sendable {
    public let section: SectionID
    public let index: Int
  }
}

extension FeedChange {
  init(_ head: Changeset.Head, _ mode: Mode) {
    let reason = mode == .reload ? head.reason : nil
    self.init(
      epoch: head.epoch,
      revision: head.revision,
      base: head.base,
      mode: mode,
      reason: reason,
      time: head.time
    )
  }
}
