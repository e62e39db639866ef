internal import CDemoHistory
import Feed
import Glibc
import OperatingSystem

/// A synthetic history of five feeds, six seconds long, which `feedstore demo` plays: examples/history.ndjson.
///
/// - A newsroom's home page: stories are added to the latest ones, gain readers, are promoted, become live coverage, and are
///   removed. The promoted ones are ranked by their readers. The demo adds one that ends by itself.
/// - A ticker that keeps its newest 15 lines, is deleted, and is created again.
/// - A football score board: matches with more goals of the home team come first.
/// - A shop's order board: orders move from column to column; a sale causes a burst of them; one record is invalid.
/// - A map of power outages: a storm replaces almost all of them, and then most of them change their kind at once.
package enum DemoHistory {
  /// The start of the history in its file: 2026-11-20T10:00:00Z, in milliseconds since 1970.
  static let recordedStart: Int64 = 1_795_168_800_000

  /// A feed that changes throughout the history.
  package static let liveliestFeed = "newsroom/home"

  /// The records as replay lines, in the order of their times.
  package static let lines = {
    var size = 0
    let bytes = UnsafeBufferPointer(start: feedstore_demo_history(&size), count: size)
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { String($0) }
  }()

  /// The same history with another start, in milliseconds since 1970.
  static func lines(from start: Int64) -> [String] {
    lines.map { line in
      // The topic, the time as "ts":1795168800000, and the rest.
      let parts = line.split(separator: ",", maxSplits: 2)
      let time = Self.time(ofLine: line)
      return "\(parts[0]),\"ts\":\(time - recordedStart + start),\(parts[2])"
    }
  }

  /// The number of records that the demo plays: the history, and a story that ends.
  package static let playedCount = lines.count + 1

  /// The content of a file with the history, and with a story on the home page that ends before the history does.
  ///
  /// - Parameters:
  ///   - start: the time of the first record, in milliseconds since 1970.
  ///   - speed: how many times as fast it is played.
  package static func text(from start: Int64 = recordedStart, speed: Double = 1) -> String {
    var lines = lines(from: start)
    let time = start + 1_000
    let story = """
      {"topic":"feeds.items","ts":\(time),"key":"\(liveliestFeed)","value":{"op":"item.upsert","item":"breaking","section":\
      "latest","at":"first","kind":"live","data":{"title":"Breaking news","slug":"breaking","readers":9000},"expires":\
      \(start + Int64(4_000 / speed))}}
      """
    let place = lines.firstIndex { Self.time(ofLine: $0) > time } ?? lines.count
    lines.insert(story, at: place)
    return lines.joined(separator: "\n") + "\n"
  }

  private static func time(ofLine line: String) -> Int64 {
    Int64(line.split(separator: ",", maxSplits: 2)[1].dropFirst("\"ts\":".count)) ?? 0
  }

  /// Writes the history to a file.
  ///
  /// - Parameter path: created or replaced; `-` is standard output.
  /// - Throws: ``ReplayError`` if it cannot be written.
  package static func write(to path: String) throws(ReplayError) {
    let file = try OutputFile(path)
    for line in lines {
      file.buffer.append(string: line)
      file.buffer.append("\n")
    }
    try file.flush()
    try file.commit()
  }
}

/// A text as an unnamed file, which is deleted with this object.
package final class DemoFile: Sendable {
  private let descriptor: Int32

  /// - Throws: ``ReplayError`` if it cannot be written.
  package init(_ text: String) throws(ReplayError) {
    var path = Array("/tmp/feedstore-demo-XXXXXX".utf8CString)
    descriptor = mkstemp(&path)
    guard descriptor >= 0 else { throw DemoFile.failure() }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // The file stays reachable through its descriptor.
    unlink(path)
    let number = Array(text.utf8).withUnsafeBytes { WholeFile.write($0, to: descriptor) }
    // `deinit` closes it.
    if number != 0 { throw DemoFile.failure(number) }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// A path that opens the file at its beginning, as long as this object lives.
  package var path: String { "/proc/self/fd/\(descriptor)" }

  private static func failure(_ number: Int32 = errno) -> ReplayError {
    ReplayError(.cannotWrite, "cannot write the sample history to /tmp: \(String(cString: strerror(number)))")
  }
}
