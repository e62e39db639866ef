/// An element of an `items` list; what is nil was absent.
struct OracleListedItem: Sendable, Equatable {
  let id: [UInt8]
  let kind: [UInt8]?
  let data: [UInt8]?

  /// The item it means, where `known` is what the feed has under that id.
  func item(keeping known: OracleItem?) -> OracleItem {
    var item = known ?? OracleItem(id: id)
    item.kind = kind ?? item.kind
    item.data = data ?? item.data
    return item
  }
}
