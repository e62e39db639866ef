/// The entries of a difference that are about items.
///
/// Positions of `deletes` and `from` count in the snapshot that the difference starts from, all others
/// in its result. `deletes` are sorted by the former, all other lists by the latter: by the order of
/// the sections, then by index.
public struct ItemChanges: Sendable, Hashable {
  public struct Delete: Sendable, Hashable {
    public var id: ItemIdentifier
    public var position: ItemPosition

    public init(id: ItemIdentifier, position: ItemPosition) {
      self.id = id
      self.position = position
    }
  }

  /// An item with its place and its content in the result.
  public struct Entry: Sendable, Hashable {
    public var id: ItemIdentifier
    public var position: ItemPosition
    public var kind: ItemKind
    public var data: JSONData

    public init(id: ItemIdentifier, position: ItemPosition, kind: ItemKind, data: JSONData) {
      self.id = id
      self.position = position
      self.kind = kind
      self.data = data
    }
  }

  public struct Move: Sendable, Hashable {
    public var id: ItemIdentifier
    public var from: ItemPosition
    public var to: ItemPosition

    public init(id: ItemIdentifier, from: ItemPosition, to: ItemPosition) {
      self.id = id
      self.from = from
      self.to = to
    }
  }

  /// An item whose kind stayed, with its data in the result.
  public struct Reconfigure: Sendable, Hashable {
    public var id: ItemIdentifier
    public var position: ItemPosition
    public var data: JSONData

    public init(id: ItemIdentifier, position: ItemPosition, data: JSONData) {
      self.id = id
      self.position = position
      self.data = data
    }
  }

  public var deletes: [Delete] = []
  public var inserts: [Entry] = []
  public var moves: [Move] = []
  /// Items whose data alone changed, or that were marked for reconfiguring.
  public var reconfigures: [Reconfigure] = []
  /// Items whose kind changed, or that were marked for reloading.
  public var reloads: [Entry] = []

  /// No changes.
  public init() {}

  public var isEmpty: Bool { count == 0 }

  /// How many entries there are.
  public var count: Int {
    deletes.count + inserts.count + moves.count + reconfigures.count + reloads.count
  }
}
