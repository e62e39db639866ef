/// An element of a `sections` list; without `items`, its list is empty.
struct OracleListedSection: Sendable, Equatable {
  let id: [UInt8]
  let data: [UInt8]?
  let items: [OracleListedItem]
  let hasItems: Bool
}
