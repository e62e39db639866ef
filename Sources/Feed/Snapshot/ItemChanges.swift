/// The entries of a difference that are about items.
///
/// Positions of `deletes` and `from` count in the snapshot that the difference starts from, all others
/// in its result. `deletes` are sorted by the former, all other lists by the latter: by the order of
/// the sections, then by index.
public struct ItemChanges: Sendable, Hashable {
  /// An item that only the first snapshot has.
  public struct Delete: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stood in the first snapshot.
    public var position: ItemPosition

    /// Makes an entry.
    public init(id: ItemIdentifier, position: ItemPosition) {
      self.id = id
      self.position = position
    }
  }

  /// An item with its place and its content in the result.
  public struct Entry: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stands in the result.
    public var position: ItemPosition
    /// Its kind in the result.
    public var kind: ItemKind
    /// Its data in the result.
    public var data: JSONData

    /// Makes an entry.
    public init(id: ItemIdentifier, position: ItemPosition, kind: ItemKind, data: JSONData) {
      self.id = id
      self.position = position
      self.kind = kind
      self.data = data
    }
  }

  /// An item that both snapshots have and that stands elsewhere in the result.
  public struct Move: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stood in the first snapshot.
    public var from: ItemPosition
    /// Where it stands in the result.
    public var to: ItemPosition

    /// Makes an entry.
    public init(id: ItemIdentifier, from: ItemPosition, to: ItemPosition) {
      self.id = id
      self.from = from
      self.to = to
    }
  }

  /// An item whose kind stayed, with its data in the result.
  public struct Reconfigure: Sendable, Hashable {
    /// Names the item.
    public var id: ItemIdentifier
    /// Where it stands in the result.
    public var position: ItemPosition
    /// Its data in the result.
    public var data: JSONData

    /// Makes an entry.
    public init(id: ItemIdentifier, position: ItemPosition, data: JSONData) {
      self.id = id
      self.position = position
      self.data = data
    }
  }

  /// Items that only the first snapshot has, but for those of a deleted section.
  public var deletes: [Delete] = []
  /// Items that only the result has.
  public var inserts: [Entry] = []
  /// Items that changed their place: the fewest that explain the new order.
  public var moves: [Move] = []
  /// Items whose data alone changed, or that were marked for reconfiguring.
  public var reconfigures: [Reconfigure] = []
  /// Items whose kind changed, or that were marked for reloading.
  public var reloads: [Entry] = []

  /// No changes.
  public init() {}

  /// Whether there are no entries.
  public var isEmpty: Bool { count == 0 }

  /// How many entries there are.
  public var count: Int {
    deletes.count + inserts.count + moves.count + reconfigures.count + reloads.count
  }
}
