/// The entries of a difference that are about sections.
///
/// Indexes of `deletes` and `from` count in the snapshot that the difference starts from, all others
/// in its result. `deletes` are sorted by the former, all other lists by the latter.
public struct SectionChanges: Sendable, Hashable {
  /// A section that only the first snapshot has.
  public struct Delete: Sendable, Hashable {
    /// Names the section.
    public var id: SectionIdentifier
    /// Where it stood in the first snapshot.
    public var index: Int

    /// Makes an entry.
    public init(id: SectionIdentifier, index: Int) {
      self.id = id
      self.index = index
    }
  }

  /// A section with its place and its data in the result.
  public struct Entry: Sendable, Hashable {
    /// Names the section.
    public var id: SectionIdentifier
    /// Where it stands in the result.
    public var index: Int
    /// Its data in the result.
    public var data: JSONData

    /// Makes an entry.
    public init(id: SectionIdentifier, index: Int, data: JSONData) {
      self.id = id
      self.index = index
      self.data = data
    }
  }

  /// A section that both snapshots have and that stands elsewhere in the result.
  public struct Move: Sendable, Hashable {
    /// Names the section.
    public var id: SectionIdentifier
    /// Where it stood in the first snapshot.
    public var from: Int
    /// Where it stands in the result.
    public var to: Int

    /// Makes an entry.
    public init(id: SectionIdentifier, from: Int, to: Int) {
      self.id = id
      self.from = from
      self.to = to
    }
  }

  /// Sections that only the first snapshot has.
  public var deletes: [Delete] = []
  /// Sections that only the result has.
  public var inserts: [Entry] = []
  /// Sections that changed their place: the fewest that explain the new order.
  public var moves: [Move] = []
  /// Sections whose data changed.
  public var reconfigures: [Entry] = []
  /// Sections that were marked for reloading.
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
