/// Usage of limits that concern more than one feed.
struct OracleUsage: Sendable, Equatable {
  /// The number of feeds in a partition.
  var feeds = 0
  /// The bytes of state in the process.
  var bytes = 0
}

extension OracleFeed {
  /// The feed's size, as counted for `limits.maxStateBytes`.
  public var stateBytes: Int {
    func quoted(_ text: [UInt8]) -> Int {
      if !keeps(.escapedBytes) { return text.count + 2 }
      var spelled = OracleText()
      spelled.addString(text)
      return spelled.bytes.count
    }
    var bytes = keeps(.feedBytes) ? 1024 : 0
    let (sectionBytes, itemBytes) = (keeps(.sectionBytes) ? 256 : 0, keeps(.itemBytes) ? 128 : 0)
    for section in sections {
      bytes += sectionBytes + "{\"id\":,\"data\":}".utf8.count + quoted(section.id) + section.data.count
      for item in section.items {
        bytes += itemBytes + "{\"id\":,\"kind\":,\"data\":}".utf8.count
        bytes += quoted(item.id) + quoted(item.kind) + item.data.count
      }
    }
    return bytes
  }
}
