import Feed
import Glibc
import Service

/// A synthetic history of five feeds, a few seconds long, which `feedstore demo` plays.
///
/// It contains typical changes: many content updates, elements that appear, disappear and move between sections, a
/// burst, a list that is almost replaced, a change of kind, a feed that is deleted and recreated, and one invalid
/// record.
package enum DemoHistory {
  /// The length of the history, in milliseconds.
  static let duration = 6_000

  /// The start of the history when it is written to a file: 2026-11-20T10:00:00Z.
  static let recordedStart: Int64 = 1_795_168_800_000

  /// A feed that changes throughout the history.
  package static let liveliestFeed = "newsroom/home"

  /// The records as replay lines, in the order of their times.
  package static var lines: [String] { lines(from: recordedStart) }

  /// The same with another start, in milliseconds since 1970.
  static func lines(from start: Int64) -> [String] {
    var script = DemoScript(seed: 2_026, start: start)
    script.addNewsroom()
    script.addScores()
    script.addOrders()
    script.addOutages()
    script.addTicker()
    return script.lines
  }

  /// The lines as a file's content.
  package static func text(from start: Int64 = recordedStart) -> String {
    lines(from: start).joined(separator: "\n") + "\n"
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
