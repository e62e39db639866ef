/// An element of a `sections` list; an absent `items` is an empty one.
struct OracleListedSection: Sendable, Equatable {
  let id: [UInt8]
  let data: [UInt8]?
  let items: [OracleListedItem]
}
