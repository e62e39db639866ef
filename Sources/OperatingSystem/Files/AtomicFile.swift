import Glibc

/// A file that is replaced atomically. It is written to a temporary file, whose name has `.tmp` appended, and
/// ``commit()`` renames it. Until then, and if the process or the machine fails, the old file stays. If the path is a
/// symbolic link, its target is replaced.
///
/// A lock prevents two processes from writing the same file.
package final class AtomicFile {
  /// The suffix of the temporary file's name.
  package static let suffix = ".tmp"

  private let path: String
  private var temporaryPath: String { path + Self.suffix }
  private let descriptor: Int32
  /// Whether the file is open, and the temporary name belongs to it.
  private var isOurs = false

  /// Creates the temporary file.
  ///
  /// It gets the owner and the permissions of the replaced file.
  ///
  /// - Throws: ``FileError``, also if another process is writing the file, or if its name is taken.
  package init(_ path: String) throws(FileError) {
    var old = stat()
    let isReplacing = stat(path, &old) == 0
    guard !isReplacing || old.st_mode & S_IFMT == S_IFREG else {
      throw FileError(number: EINVAL, "cannot replace \(path), which is not a regular file")
    }
    let resolved = realpath(path, nil)
    defer { free(resolved) }
    self.path = resolved.map { String(cString: $0) } ?? path
    let temporaryPath = self.path + Self.suffix
    descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
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
    guard isReplacing else { return }
    // Only root can change a file's owner.
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

  package func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    let number = WholeFile.write(bytes, to: descriptor)
    if number != 0 { throw FileError("write \(temporaryPath)", number) }
  }

  /// Renames the file to its final name, after its content is on disk. Call it once, at the end.
  package func commit() throws(FileError) {
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

/// Why a file could not be read or written.
package struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The `errno` value, such as `ENOENT`.
  package let number: Int32
  /// The attempted action with the path, and the reason.
  package let description: String

  /// - Parameter action: the attempted action with the path; evaluated after `errno` is read.
  package init(_ action: @autoclosure () -> String, _ number: Int32 = errno) {
    self.number = number
    description = "cannot \(action()): \(String(cString: strerror(number)))"
  }

  /// - Parameter description: the problem, with the path and the remedy.
  init(number: Int32, _ description: String) {
    self.number = number
    self.description = description
  }
}

/// Reads or writes all bytes at once.
package enum WholeFile {
  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: `-` is standard input.
  ///   - most: its maximum size in bytes.
  /// - Returns: the bytes; nil if the file is larger.
  package static func bytes(_ path: String, atMost most: Int) throws(FileError) -> [UInt8]? {
    if path == "-" { return try bytes(of: 0, "standard input", atMost: most) }
    return try reading(path) { descriptor throws(FileError) in
      try bytes(of: descriptor, path, atMost: most)
    }
  }

  /// Opens a file for the duration of a call.
  package static func reading<Result>(
    _ path: String,
    _ body: (Int32) throws(FileError) -> Result
  ) throws(FileError) -> Result {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError("read \(path)") }
    defer { close(descriptor) }
    return try body(descriptor)
  }

  /// Reads an open file to its end; nil if it is larger.
  package static func bytes(
    of descriptor: Int32,
    _ name: String,
    atMost most: Int
  ) throws(FileError) -> [UInt8]? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileError("read \(name)") }
      if count == 0 { return bytes }
      guard count <= most - bytes.count else { return nil }
      bytes += chunk[..<count]
    }
  }

  /// Writes all bytes to an open file.
  ///
  /// - Returns: 0, or the `errno` value.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return errno
      }
    }
    return 0
  }
}

package enum OpenFiles {
  /// Raises the limit, as far as the system allows (`LimitNOFILE` in a systemd unit, `ulimit -Hn`).
  ///
  /// Many systems start with 1024, for programs that use `select`, and let other programs raise it. A higher limit is
  /// kept.
  ///
  /// - Returns: the resulting limit.
  package static func allow(_ count: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    if limit.rlim_cur < rlim_t(count) {
      let previous = limit.rlim_cur
      limit.rlim_cur = min(rlim_t(count), limit.rlim_max)
      if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 { limit.rlim_cur = previous }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
