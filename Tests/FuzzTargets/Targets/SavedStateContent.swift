@testable import Feed

/// A saved state that was loaded.
struct SavedStateContent {
  private var header: SavedStateHeader?
  private var partitions: [(partition: SavedPartition, replicas: ReplicaPartition)] = []

  /// Loads lines, to which a matching last line is added.
  static func loadWithEnd(_ lines: [[UInt8]]) -> SavedStateContent? {
    var checksum = SavedStateChecksum()
    for line in lines { line.withOwnSpan { checksum.append($0) } }
    return load(lines + [Array("{\"lines\":\(lines.count),\"checksum\":\"\(checksum.text)\"}".utf8)])
  }

  /// nil if the state is invalid.
  static func load(_ lines: some Sequence<[UInt8]>) -> SavedStateContent? {
    var content = SavedStateContent()
    let reader = SavedStateReader()
    do throws(SavedStateFault) {
      for line in lines { try content.take(line, reader) }
    } catch {
      return nil
    }
    return reader.isComplete ? content : nil
  }

  private mutating func take(_ bytes: [UInt8], _ reader: SavedStateReader) throws(SavedStateFault) {
    let replicas = partitions.last?.replicas
    let line = try bytes.withOwnSpan { span throws(SavedStateFault) in
      try reader.read(span, into: replicas, feeds: nil)
    }
    switch line {
    case .header(let header): self.header = header
    case .partition(let partition): partitions.append((partition, ReplicaPartition()))
    case .feed, .passedOver, .end: break
    }
  }

  /// The state as a follower saves it.
  var saved: [UInt8] {
    guard let header else { return [] }
    var writer = SavedStateWriter(header)
    for (partition, replicas) in partitions {
      writer.append(partition)
      for feed in replicas.savedFeeds { writer.append(feed) }
      for (feed, reason) in replicas.staleFeedsWithoutReplica { writer.append(feed, lost: reason) }
    }
    writer.finish()
    return Array(writer.output.written.buffer)
  }

  /// The feeds of each partition.
  var contents: [ReplicaContent] {
    get throws(FuzzFailure) {
      try partitions.map { partition throws(FuzzFailure) in
        for replica in partition.replicas.replicas { replica.checkInvariants() }
        return try ReplicaContent(partition.replicas)
      }
    }
  }
}
