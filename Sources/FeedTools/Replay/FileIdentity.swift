import Glibc

/// Which file a path leads to, whatever the path is called: links and `./` come to the same.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let inode: ino_t
  /// Neither a device nor a pipe, which may be read and written at once.
  let isRegular: Bool

  static func == (one: FileIdentity, other: FileIdentity) -> Bool {
    one.device == other.device && one.inode == other.inode
  }

  /// - Parameters:
  ///   - path: nil comes of one where nothing can be found.
  ///   - standard: the descriptor that `-` stands for.
  init?(_ path: String, standard: Int32) {
    var status = stat()
    guard (path == "-" ? fstat(standard, &status) : stat(path, &status)) == 0 else { return nil }
    device = status.st_dev
    inode = status.st_ino
    isRegular = status.st_mode & S_IFMT == S_IFREG
  }
}
