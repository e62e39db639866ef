/// The smallest piece of a changeset that is never split, as canonical bytes.
struct OracleUnit: Equatable {
  enum Place: Equatable {
    /// An entry of a difference: `group` is `sections` or `items`, `list` is `delete` and so on.
    case entry(group: String, list: String)
    /// The head of a section of a reload: `"id":…,"data":…`.
    case section(id: [UInt8])
    /// An item of a reload.
    case item(section: [UInt8])
  }

  let place: Place
  let bytes: [UInt8]
}
