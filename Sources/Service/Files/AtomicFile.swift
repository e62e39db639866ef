import Glibc

/// A file that appears as a whole or not at all: it is written beside its place, under its name with `.tmp`
/// after it, and takes its place with ``commit()``. What was there before stays until then, and stays if the process
/// or the machine fails in between.
///
/// Only one process at a time writes a file; others are refused.
public final class AtomicFile {
  private let path: String
  private var temporaryPath: String { path + ".tmp" }
  private let descriptor: Int32
  /// Whether the file is open, and its name beside the place is ours.
  private var isOurs = false

  /// Begins a file; it can be read and written by the process's user only.
  ///
  /// - Throws: ``FileError``, also if it is being written already.
  public init(_ path: String) throws(FileError) {
    self.path = path
    descriptor = open(path + ".tmp", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError("write \(path).tmp") }
    // Not emptied before it is known to be ours: another's may have taken its place between the two calls.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isNamed(path + ".tmp", descriptor),
      ftruncate(descriptor, 0) == 0
    else {
      let number = errno == 0 ? EAGAIN : errno
      close(descriptor)
      throw FileError("write \(path).tmp, which is perhaps being written by another", number)
    }
    isOurs = true
  }

  /// Whether the path is that of the open file.
  private static func isNamed(_ path: String, _ descriptor: Int32) -> Bool {
    var (named, opened) = (stat(), stat())
    guard stat(path, &named) == 0, fstat(descriptor, &opened) == 0 else { return false }
    return named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
  }

  deinit {
    guard isOurs else { return }
    // Removed while it is locked, so that it is nobody else's.
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

  /// Puts the file in its place, once all of it is on the disk. To be called once, at the end.
  public func commit() throws(FileError) {
    guard fsync(descriptor) == 0 else { throw FileError("write \(temporaryPath) to the disk") }
    guard rename(temporaryPath, path) == 0 else { throw FileError("rename \(temporaryPath) to \(path)") }
    isOurs = false
    close(descriptor)
    // The name is on the disk when the folder is.
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
