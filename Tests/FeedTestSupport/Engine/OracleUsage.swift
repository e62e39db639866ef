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
      var spelled = OracleText()
      spelled.addString(text)
      return spelled.bytes.count
    }
    var bytes = 1024
    for section in sections {
      bytes += 256 + "{\"id\":,\"data\":}".utf8.count + quoted(section.id) + section.data.count
      for item in section.items {
        bytes += 128 + "{\"id\":,\"kind\":,\"data\":}".utf8.count
        bytes += quoted(item.id) + quoted(item.kind) + item.data.count
      }
    }
    return bytes
  }
}
