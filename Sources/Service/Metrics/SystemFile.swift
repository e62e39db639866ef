import Glibc

/// Reads small files of `/proc` and `/sys`.
enum SystemFile {
  private static let mostBytes = 1 << 20

  /// The file's text; nil if it cannot be read.
  static func text(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16 << 10)
    while bytes.count < mostBytes {
      let count = read(descriptor, &part, part.count)
      if count < 0 { return nil }
      if count == 0 { break }
      bytes += part[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
