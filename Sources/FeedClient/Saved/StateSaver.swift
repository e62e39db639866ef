import Feed
import Service

/// Writes the state of a board to a file.
struct StateSaver {
  let board: FeedBoard
  let topic: String

  private static let flushBytes = 128 << 10

  /// Replaces the file. Memory holds one encoded feed, and copies of the current partition's feeds that change
  /// meanwhile.
  ///
  /// - Returns: false, and leaves the file unchanged, if the board does not know its partitions yet.
  func save(to path: String) throws(FileError) -> Bool {
    guard let numbers = board.openedPartitions else { return false }
    let file = try AtomicFile(path)
    var writer = SavedStateWriter(
      SavedStateHeader(
        topic: topic,
        cluster: board.clusterID,
        feeds: board.kept,
        timeMilliseconds: WallClock.milliseconds()
      )
    )
    for number in numbers {
      guard let capture = board.capture(number) else { continue }
      try write(consume capture, to: &writer) { (writer) throws(FileError) in
        guard writer.output.count >= Self.flushBytes else { return }
        try Self.flush(writer, to: file)
      }
    }
    writer.finish()
    try Self.flush(writer, to: file)
    try file.commit()
    return true
  }

  private func write(
    _ capture: consuming PartitionCapture,
    to writer: inout SavedStateWriter,
    _ flushIfLarge: (SavedStateWriter) throws(FileError) -> Void
  ) throws(FileError) {
    writer.append(capture.partition)
    let lost = capture.lost
    // Each snapshot is released once written, so that its replica can be changed in place again.
    var feeds = Array(capture.feeds.reversed())
    _ = consume capture
    while let feed = feeds.popLast() {
      writer.append(feed)
      try flushIfLarge(writer)
    }
    for (feed, reason) in lost {
      writer.append(feed, lost: reason)
      try flushIfLarge(writer)
    }
  }

  private static func flush(_ writer: SavedStateWriter, to file: AtomicFile) throws(FileError) {
    try file.append(writer.output.written.rawBuffer)
    writer.output.removeAll()
  }
}
