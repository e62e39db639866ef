import Glibc

/// Reads or writes all bytes at once.
public enum WholeFile {
  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: `-` is standard input.
  ///   - most: its maximum size in bytes.
  /// - Returns: the bytes; nil if the file is larger.
  public static func bytes(_ path: String, atMost most: Int) throws(FileError) -> [UInt8]? {
    let name = path == "-" ? "standard input" : path
    let descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError("read \(name)") }
    defer { if path != "-" { close(descriptor) } }
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
  public static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
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
