import Glibc

/// A file with a secret. It is rejected if other users can read it.
public enum SecretFile {
  /// Reads the file as text, without a final line break.
  ///
  /// - Parameter most: its maximum size in bytes.
  /// - Throws: ``FileError`` with the path and the remedy.
  public static func text(_ path: String, atMost most: Int) throws(FileError) -> String {
    var bytes = try bytes(path, atMost: most)
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw FileError(number: EILSEQ, "\(path) is not UTF-8; save it as UTF-8")
    }
    return text
  }

  /// Reads the file.
  ///
  /// - Parameter most: its maximum size in bytes.
  /// - Throws: ``FileError`` with the path and the remedy.
  public static func bytes(_ path: String, atMost most: Int) throws(FileError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError("read \(path)") }
    defer { close(descriptor) }
    try check(descriptor, path)
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4_096)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileError("read \(path)") }
      if count == 0 { return bytes }
      guard count <= most - bytes.count else {
        throw FileError(
          number: EFBIG,
          "\(path) has more than \(most) bytes; name the file that holds the secret"
        )
      }
      bytes += chunk[..<count]
    }
  }

  /// Rejects a file that other users can read, or that cannot be opened.
  ///
  /// - Throws: ``FileError`` with the path and the remedy.
  public static func check(_ path: String) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError("read \(path)") }
    defer { close(descriptor) }
    try check(descriptor, path)
  }

  static func check(_ descriptor: Int32, _ path: String) throws(FileError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError("read \(path)") }
    if let fault = FilePermissions(status).fault(path, user: geteuid()) {
      throw FileError(number: EACCES, isExposed: true, fault)
    }
  }
}
