import Glibc

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
  ///   - standard: the descriptor that `-` stands for.
  init?(_ path: String, standard: Int32) {
    var status = stat()
    guard (path == "-" ? fstat(standard, &status) : stat(path, &status)) == 0 else { return nil }
    device = status.st_dev
    inode = status.st_ino
    isRegular = status.st_mode & S_IFMT == S_IFREG
  }
}
