import Feed
import Glibc
import Service

/// Checks the file of `feedstore follow --state` before following starts, so that a file that is not a saved state is
/// not overwritten, and an unwritable path is reported early.
enum FollowState {
  /// - Throws: ``ConfigurationError`` with the file and the remedy.
  static func check(_ path: String) throws(ConfigurationError) {
    do throws(FileError) {
      // Opened the same way as at the end; it is removed again because it is not committed.
      _ = try AtomicFile(path)
    } catch {
      throw refusal(path, "cannot be used: \(error)")
    }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw refusal(path, "cannot be read: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var beginning = [UInt8](repeating: 0, count: SavedStateWriter.beginning.utf8.count)
    let count = read(descriptor, &beginning, beginning.count)
    guard count >= 0 else { throw refusal(path, "cannot be read: \(String(cString: strerror(errno)))") }
    guard count == 0 || beginning.prefix(count).elementsEqual(SavedStateWriter.beginning.utf8) else {
      throw refusal(path, "is not a state that feedstore follow saved")
    }
  }

  private static func refusal(_ path: String, _ problem: String) -> ConfigurationError {
    ConfigurationError(
      .outOfRange,
      "--state is \(path.debugDescription), which \(problem); name another file"
    )
  }
}
