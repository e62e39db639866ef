import Glibc

/// A file that is replaced atomically. It is written to a temporary file, whose name has `.tmp` appended, and
/// ``commit()`` renames it. Until then, and if the process or the machine fails, the old file stays.
///
/// A lock prevents two processes from writing the same file.
public final class AtomicFile {
  private let path: String
  private var temporaryPath: String { path + ".tmp" }
  private let descriptor: Int32
  /// Whether the file is open, and the temporary name belongs to it.
  private var isOurs = false

  /// Creates the temporary file. Only the process's user can read and write it.
  ///
  /// - Throws: ``FileError``, also if another process is writing the file.
  public init(_ path: String) throws(FileError) {
    self.path = path
    descriptor = open(path + ".tmp", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError("write \(path).tmp") }
    // Truncated only after this check: another process may have replaced the file between `open` and `flock`.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isNamed(path + ".tmp", descriptor),
      ftruncate(descriptor, 0) == 0
    else {
      let number = errno == 0 ? EAGAIN : errno
      close(descriptor)
      throw FileError("write \(path).tmp, which is perhaps being written by another", number)
    }
    isOurs = true
  }

  /// Whether the path still names the open file.
  private static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
    var (named, opened) = (stat(), stat())
    guard stat(path, &named) == 0, fstat(descriptor, &opened) == 0 else { return false }
    return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
  }

  deinit {
    guard isOurs else { return }
    // Removed while locked, so that it cannot be another process's file.
    unlink(temporaryPath)
    close(descriptor)
  }

  /// Appends bytes.
  public func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    guard let base = bytes.baseAddress else { return }
    var written = 0
    while written < bytes.count {
      let count = write(descriptor, base + written, bytes.count - written)
      if count < 0 {
        if errno == EINTR { continue }
        throw FileError("write \(temporaryPath)")
      }
      written += count
    }
  }

  /// Renames the file to its final name, after its content is on disk. Call it once, at the end.
  public func commit() throws(FileError) {
    guard fsync(descriptor) == 0 else { throw FileError("write \(temporaryPath) to the disk") }
    guard rename(temporaryPath, path) == 0 else { throw FileError("rename \(temporaryPath) to \(path)") }
    isOurs = false
    close(descriptor)
    // The rename is durable only after its directory has been synced.
    let folder = open(Self.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard folder >= 0 else { throw FileError("open the folder of \(path)") }
    defer { close(folder) }
    guard fsync(folder) == 0 else { throw FileError("write the folder of \(path) to the disk") }
  }

  private static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
