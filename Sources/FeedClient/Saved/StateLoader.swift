import Feed
import Service

/// Reads a saved state from a file, and refuses what cannot be gone on with.
///
/// **Why a follower that goes on from here ends with the same as one that reads all**, although the topic was
/// compacted in between. Let a feed have been read up to an offset P, and take the newest reload of its newest
/// epoch. The reload's records and those of the deltas after it are the newest of their keys, so compaction keeps
/// them.
///
/// - If the reload begins at P or after it, it is read whole, and so is all that applies to it. What comes before
///   it may have gaps, and then only loses the feed until the reload comes.
/// - If it ends before P, it was taken before the feed was saved, with all deltas up to P, and the base of the next
///   one is the revision that was saved.
/// - It does not lie on both sides of P: of a changeset that had come in part, P is the offset of the first part
///   (`SavedPartition.behind`). Other feeds' records from there to their own P are passed over, as reading them
///   twice is not harmless: an epoch that ended in between would be seen to come back.
/// - If the feed was deleted before P, that was read. If after P, a null under `k0` says so, for
///   `delete.retention.ms` after it was written, which was after `SavedPartition.asOf`: hence the bound of the age.
struct StateLoader {
  /// What a state must be of to be used.
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
  /// Those that are in the file, wanted or not.
  private var numbers: Set<Int32> = []
  /// The partition of the feeds that come, if it is wanted.
  private var current: Int32?

  private init(_ expected: Expectation, _ wanted: Set<Int32>) {
    self.expected = expected
    self.wanted = wanted
  }

  /// Reads the file to its end.
  ///
  /// - Parameters:
  ///   - wanted: the partitions to load.
  ///   - isAbandoned: asked again and again; whether to give up.
  /// - Returns: those of the partitions that were saved; nil if there is no file, or it was given up.
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
    case .feed(let feed, let lost):
      if let current, let lost { partitions[current]?.lost[feed] = lost }
    case .passedOver, .end: break
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
    // Of a feed that was not followed it says nothing, not even that there is none.
    if let saved = header.feeds, expected.feeds?.isSubset(of: saved) != true {
      throw SavedStateFault("it has fewer feeds than are followed now")
    }
  }
}
