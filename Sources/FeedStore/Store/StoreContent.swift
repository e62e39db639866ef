/// The numbers of feeds, sections, items and bytes in a store.
public struct StoreContent: Sendable, Equatable {
  /// The number of existing feeds.
  public var feeds = 0
  public var sections = 0
  public var items = 0
  /// Bytes, by the formula of `StateSize`.
  public var bytes = 0
  /// Ids that several of a store's partitions have.
  public var sharedIDs = 0

  public init() {}

  /// The sum of two stores' contents.
  public func adding(_ other: StoreContent) -> StoreContent {
    var sum = self
    sum.feeds += other.feeds
    sum.sections += other.sections
    sum.items += other.items
    sum.bytes += other.bytes
    sum.sharedIDs += other.sharedIDs
    return sum
  }
}
