/// The entries of a difference that are about sections.
///
/// Indexes of `deletes` and `from` count in the snapshot that the difference starts from, all others
/// in its result. `deletes` are sorted by the former, all other lists by the latter.
public struct SectionChanges: Sendable, Hashable {
  public struct Delete: Sendable, Hashable {
    public var id: SectionIdentifier
    public var index: Int

    public init(id: SectionIdentifier, index: Int) {
      self.id = id
      self.index = index
    }
  }

  /// A section with its place and its data in the result.
  public struct Entry: Sendable, Hashable {
    public var id: SectionIdentifier
    public var index: Int
    public var data: JSONData

    public init(id: SectionIdentifier, index: Int, data: JSONData) {
      self.id = id
      self.index = index
      self.data = data
    }
  }

  public struct Move: Sendable, Hashable {
    public var id: SectionIdentifier
    public var from: Int
    public var to: Int

    public init(id: SectionIdentifier, from: Int, to: Int) {
      self.id = id
      self.from = from
      self.to = to
    }
  }

  public var deletes: [Delete] = []
  public var inserts: [Entry] = []
  public var moves: [Move] = []
  /// Sections whose data changed.
  public var reconfigures: [Entry] = []
  /// Sections that were marked for reloading.
  public var reloads: [Entry] = []

  /// No changes.
  public init() {}

  public var isEmpty: Bool { count == 0 }

  /// How many entries there are.
  public var count: Int {
    deletes.count + inserts.count + moves.count + reconfigures.count + reloads.count
  }
}
