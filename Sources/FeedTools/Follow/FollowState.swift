import Feed
import Glibc
import Service

/// The file of `feedstore follow --state`, looked at before anything is followed: what is not a saved state is not
/// written over, and what cannot be written is told before all the work is done.
enum FollowState {
  /// - Throws: ``ConfigurationError`` that names the file and the remedy.
  static func check(_ path: String) throws(ConfigurationError) {
    do throws(FileError) {
      // As it is written at the end; what is not committed is gone again.
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
