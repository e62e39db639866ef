import Settings

/// Where the schemas of Avro are (docs/ingest.md#avro).
package struct SchemaRegistryOptions: Sendable, Equatable {
  /// Without a slash at the end; empty if there are only files.
  package private(set) var url = ""
  package private(set) var user = ""
  package private(set) var password = ""
  package private(set) var authority = ""
  /// The paths of schemas by their ids.
  package private(set) var files: [Int32: String] = [:]

  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    let key = "ingest.schemaRegistry.url"
    url = try reader.string(key, default: "", allowed: HTTPOptions.urls, where: HTTPOptions.isURL)
    if url.hasSuffix("/") { url.removeLast() }
    user = try reader.string("ingest.schemaRegistry.user", default: "")
    password = try reader.string("ingest.schemaRegistry.password", default: "")
    authority = try reader.string("ingest.schemaRegistry.authority", default: "")
    for file in try reader.pairs(prefix: "ingest.schemaFiles.") {
      guard let id = Int32(file.name), id >= 0 else {
        let key = "ingest.schemaFiles.\(file.name)"
        throw ConfigurationError("\(key): a schema's id is a number from 0", place: reader.place(of: key))
      }
      files[id] = file.value
    }
  }

  package var isEmpty: Bool { url.isEmpty && files.isEmpty }
}
