/// Entries that events force into a feed's next changeset.
public struct OracleForced: Sendable, Equatable {
  /// `feed.reload`: the changeset is a reload.
  public var feedReload = false
  public var sectionReloads: Set<[UInt8]> = []
  public var itemReloads: Set<[UInt8]> = []
  public var itemReconfigures: Set<[UInt8]> = []

  public init() {}

  public var isEmpty: Bool { self == OracleForced() }

  mutating func forgetSection(_ id: [UInt8]) {
    sectionReloads.remove(id)
  }

  mutating func forgetItem(_ id: [UInt8]) {
    itemReloads.remove(id)
    itemReconfigures.remove(id)
  }
}
