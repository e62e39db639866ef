import Glibc

/// A file that is replaced atomically. It is written to a temporary file, whose name has `.tmp` appended, and
/// ``commit()`` renames it. Until then, and if the process or the machine fails, the old file stays. If the path is a
/// symbolic link, the file that it leads to is replaced.
///
/// A lock prevents two processes from writing the same file.
public final class AtomicFile {
  /// What is appended to a file's name for its temporary file.
  public static let suffix = ".tmp"

  private let path: String
  private var temporaryPath: String { path + Self.suffix }
  private let descriptor: Int32
  /// Whether the file is open, and the temporary name belongs to it.
  private var isOurs = false

  /// Creates the temporary file.
  ///
  /// - Parameter isPrivate: whether only the process's user can read and write it. Otherwise it has the owner and the
  ///   permissions of the file that it replaces.
  /// - Throws: ``FileError``, also if another process is writing the file, or if something else has its name.
  public init(_ path: String, isPrivate: Bool = true) throws(FileError) {
    var old = stat()
    let isReplacing = stat(path, &old) == 0
    guard !isReplacing || old.st_mode & S_IFMT == S_IFREG else {
      throw FileError(number: EINVAL, "cannot replace \(path), which is not a regular file")
    }
    let resolved = realpath(path, nil)
    defer { free(resolved) }
    self.path = resolved.map { String(cString: $0) } ?? path
    let temporaryPath = self.path + Self.suffix
    descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_CLOEXEC, isPrivate ? 0o600 : 0o644)
    guard descriptor >= 0 else { throw FileError("write \(temporaryPath)") }
    // Truncated only after this check: another process may have replaced the file between `open` and `flock`.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isNamed(temporaryPath, descriptor),
      ftruncate(descriptor, 0) == 0
    else {
      let number = errno == 0 ? EAGAIN : errno
      close(descriptor)
      throw FileError("write \(temporaryPath), which is perhaps being written by another", number)
    }
    isOurs = true
    guard isReplacing, !isPrivate else { return }
    // Only root can give a file away.
    _ = fchown(descriptor, old.st_uid, old.st_gid)
    _ = fchmod(descriptor, old.st_mode & 0o7777)
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
    let number = WholeFile.write(bytes, to: descriptor)
    if number != 0 { throw FileError("write \(temporaryPath)", number) }
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
