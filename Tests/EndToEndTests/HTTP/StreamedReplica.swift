import Feed

/// A copy of a feed, updated from the messages of a stream, as a client has it.
final class StreamedReplica {
  private let feed: String
  private let replicas = ReplicaPartition()
  private(set) var lastID: String?
  /// The number of messages that could not be applied, because something was missing.
  private(set) var faults = 0

  init(_ feed: String) { self.feed = feed }

  /// Applies a message with a changeset.
  func take(_ message: EventReader.Message) throws {
    if let id = message.id { lastID = id }
    // On the topic, a part of a reload is under its number, and anything else under a delta's key.
    let part = message.data.firstMatch(of: /^[^\[]*"part":([0-9]+)/).map { String($0.1) } ?? "0"
    let isReload = message.data.contains(/^[^\[]*"mode":"reload"/)
    let key = Array("\(isReload ? "k\(part)" : "d1")/\(feed)".utf8)
    let outcome = try key.withUnsafeBytes { key in
      try Array(message.data.utf8).withUnsafeBytes {
        try replicas.apply(key: ByteSpan(key), value: ByteSpan($0))
      }
    }
    switch outcome {
    case .gap, .otherEpoch, .mismatch: faults += 1
    case .applied, .removed, .skipped, .waitingForParts: break
    }
  }

  /// `<epoch>@<revision>`; nil if there is no feed.
  var version: String? {
    replicas.version(of: feed).map { "\(String(decoding: $0.epoch, as: UTF8.self))@\($0.revision)" }
  }

  /// The feed as a server would send it; nil if there is none.
  var document: String? {
    guard let replica = replicas.replica(of: feed), let version = replicas.version(of: feed) else {
      return nil
    }
    let bytes = replica.snapshot().reload(
      of: feed,
      version: version,
      timeMilliseconds: replica.timeMilliseconds
    )
    return String(decoding: bytes, as: UTF8.self)
  }
}
