import Diagnostics
import Feed
import Glibc
import OperatingSystem

/// A file or standard output, with a buffer.
///
/// A file appears as a whole, at the end. Standard output, pipes, devices, and a shell's open files (`/dev/stdout`) are
/// written to at once.
final class OutputFile {
  /// The file's name for messages.
  let name: String
  let buffer = ByteWriter(capacity: 256 << 10)
  private let target: Target
  /// Whether it replaces a file, but only by a complete output.
  let isReplacing: Bool

  private enum Target {
    case open(Int32)
    case file(AtomicFile)
  }

  private static let flushBytes = 128 << 10

  /// - Parameter path: `-` is standard output.
  init(_ path: String) throws(ReplayError) {
    let isShells = ["/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/"].contains { path.hasPrefix($0) }
    let standard = FileIdentity("-", standard: 1)
    if path == "-" || isShells && standard != nil && FileIdentity(path, standard: 1) == standard {
      name = "standard output"
      target = .open(1)
      isReplacing = false
      return
    }
    name = path
    var status = stat()
    let exists = stat(path, &status) == 0
    // A symbolic link's target may not exist yet.
    if !isShells, exists ? status.st_mode & S_IFMT == S_IFREG : lstat(path, &status) != 0 {
      do throws(FileError) {
        target = .file(try AtomicFile(path))
        isReplacing = exists
        return
      } catch {
        // A user without the right to add files to a folder may still write to an existing one.
        guard exists, error.number == EACCES else { throw Self.failure(name, error.number) }
      }
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (isShells ? O_APPEND : O_TRUNC), 0o644)
    guard descriptor >= 0 else { throw Self.failure(name, errno) }
    target = .open(descriptor)
    isReplacing = false
  }

  deinit {
    if case .open(let descriptor) = target, descriptor > 1 { close(descriptor) }
  }

  /// Writes the buffer once it is large enough.
  func flushIfLarge() throws(ReplayError) {
    if buffer.count >= OutputFile.flushBytes { try flush() }
  }

  func flush() throws(ReplayError) {
    let bytes = buffer.written.rawBuffer
    switch target {
    case .file(let file):
      do throws(FileError) { try file.append(bytes) } catch { throw Self.failure(name, error.number) }
    case .open(1):
      guard StandardOutput.write(bytes: bytes) else {
        throw Self.failure(name, StandardOutput.failure?.number ?? EPIPE)
      }
    case .open(let descriptor):
      let number = WholeFile.write(bytes, to: descriptor)
      if number != 0 { throw Self.failure(name, number) }
    }
    buffer.removeAll()
  }

  /// Renames a completely written file.
  func commit() throws(ReplayError) {
    guard case .file(let file) = target else { return }
    do throws(FileError) { try file.commit() } catch { throw Self.failure(name, error.number) }
  }

  private static func failure(_ name: String, _ number: Int32) -> ReplayError {
    ReplayError(.cannotWrite, "cannot write \(name): \(String(cString: strerror(number)))")
  }
}

/// Identifies the file at a path, so that links and `./` compare equal.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t
  /// False for devices and pipes, which can be read and written at the same time.
  let isRegular: Bool

  static func == (one: FileIdentity, other: FileIdentity) -> Bool {
    one.device == other.device && one.inode == other.inode
  }

  /// - Parameters:
  ///   - path: a path, or `-`. The initializer returns nil if there is no file.
  ///   - standard: the descriptor for `-`.
  init?(_ path: String, standard: Int32) {
    var status = stat()
    guard (path == "-" ? fstat(standard, &status) : stat(path, &status)) == 0 else { return nil }
    device = status.st_dev
    inode = status.st_ino
    isRegular = status.st_mode & S_IFMT == S_IFREG
  }
}
