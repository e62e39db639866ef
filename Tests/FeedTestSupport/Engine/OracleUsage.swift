/// What limits beyond one feed are about.
struct OracleUsage: Sendable, Equatable {
  /// Feeds that exist in a partition.
  var feeds = 0
  /// Bytes of state in the process.
  var bytes = 0
}

extension OracleFeed {
  /// What the feed counts as for `limits.maxStateBytes`.
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
