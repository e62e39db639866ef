/// An element of an `items` list; nil for absent fields.
struct OracleListedItem: Sendable, Equatable {
  let id: [UInt8]
  let kind: [UInt8]?
  let data: [UInt8]?

  /// The resulting item, where `known` is the feed's item with that id.
  func item(keeping known: OracleItem?) -> OracleItem {
    var item = known.flatMap { keeps(.listedFieldsStay) ? $0 : nil } ?? .new(id)
    item.kind = kind ?? item.kind
    item.data = data ?? item.data
    return item
  }
}
