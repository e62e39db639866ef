import Feed
import Service

/// Reads a saved state from a file, and refuses states that cannot be continued.
///
/// **Why a follower that continues from a saved state ends with the same feeds as one that reads the whole topic**,
/// although the topic was compacted in between. Let a feed have been read up to an offset P, and take the newest reload
/// of its newest epoch. The records of the reload and of the deltas after it are the newest of their keys, so
/// compaction keeps them.
///
/// - If the reload begins at or after P, the follower reads all of it, and everything that applies to it. Gaps in
///   earlier records only mark the feed as lost until the reload arrives.
/// - If the reload ends before P, the saved state includes it with all deltas up to P. The base of the next delta is
///   the saved revision.
/// - A reload does not span P: for an incomplete changeset, P is the offset of its first part
///   (`SavedPartition.behind`). The follower skips records of other feeds between that offset and their own P. Reading
///   them twice would be an error: a past epoch would seem to return.
/// - If the feed was deleted before P, the deletion was read. If it was deleted after P, a null under `k0` says so
///   until `delete.retention.ms` after it was written. It was written after `SavedPartition.asOf`, hence the limit on
///   the age.
struct StateLoader {
  /// What a saved state must match.
  struct Expectation {
    var topic: String
    /// Nil if it is not known; then it is not compared.
    var cluster: String?
    var partitionCount: Int32
    /// The feeds to follow; nil for all.
    var feeds: Set<ByteText>?
  }

  private let expected: Expectation
  private let wanted: Set<Int32>
  private let reader = SavedStateReader()
  private var partitions: [Int32: LoadedPartition] = [:]
  /// All partitions in the file, wanted or not.
  private var numbers: Set<Int32> = []
  /// The partition of the feeds that are being read; nil if it is not wanted.
  private var current: Int32?

  private init(_ expected: Expectation, _ wanted: Set<Int32>) {
    self.expected = expected
    self.wanted = wanted
  }

  /// Reads the file to its end.
  ///
  /// - Parameters:
  ///   - wanted: the partitions to load.
  ///   - isAbandoned: polled while reading; true stops the load.
  /// - Returns: the wanted partitions that the file has; nil if there is no file or the load was stopped.
  /// - Throws: why the state cannot be used.
  static func load(
    _ path: String,
    partitions wanted: Set<Int32>,
    _ expected: Expectation,
    isAbandoned: () -> Bool = { false }
  ) throws(SavedStateFault) -> [Int32: LoadedPartition]? {
    guard let file = try open(path) else { return nil }
    var loader = StateLoader(expected, wanted)
    while let line = try nextLine(of: file) {
      if isAbandoned() { return nil }
      try loader.take(line)
    }
    guard loader.reader.isComplete else { throw SavedStateFault("it ends too early") }
    return loader.partitions
  }

  private static func open(_ path: String) throws(SavedStateFault) -> LineReader? {
    do throws(FileError) {
      return try LineReader(path)
    } catch {
      if error.isMissing { return nil }
      throw SavedStateFault(error.description)
    }
  }

  private static func nextLine(of file: LineReader) throws(SavedStateFault) -> ByteSpan? {
    do throws(FileError) {
      return try file.next().map { ByteSpan($0) }
    } catch {
      throw SavedStateFault(error.description)
    }
  }

  private mutating func take(_ line: ByteSpan) throws(SavedStateFault) {
    let replicas = current.flatMap { partitions[$0]?.replicas }
    switch try reader.read(line, into: replicas, feeds: expected.feeds) {
    case .header(let header): try check(header)
    case .partition(let partition): try begin(partition)
    case .feed, .passedOver, .end: break
    }
  }

  private mutating func begin(_ partition: SavedPartition) throws(SavedStateFault) {
    guard partition.number < expected.partitionCount else {
      throw SavedStateFault(
        "it has partition \(partition.number), and the topic has \(expected.partitionCount) now: it was re-created"
      )
    }
    guard numbers.insert(partition.number).inserted else {
      throw SavedStateFault("it has partition \(partition.number) twice")
    }
    current = wanted.contains(partition.number) ? partition.number : nil
    guard let current else { return }
    var partition = partition
    if let feeds = expected.feeds { partition.behind = partition.behind.filter { feeds.contains($0.key) } }
    partitions[current] = LoadedPartition(partition)
  }

  private func check(_ header: SavedStateHeader) throws(SavedStateFault) {
    guard ByteText(header.topic) == ByteText(expected.topic) else {
      throw SavedStateFault("it belongs to topic \(header.topic)")
    }
    if let saved = header.cluster, let found = expected.cluster, saved != found {
      throw SavedStateFault("it belongs to cluster \(saved), and this is \(found)")
    }
    // The file says nothing about feeds that were not followed, not even that they do not exist.
    if let saved = header.feeds, expected.feeds?.isSubset(of: saved) != true {
      throw SavedStateFault("it has fewer feeds than are followed now")
    }
  }
}
