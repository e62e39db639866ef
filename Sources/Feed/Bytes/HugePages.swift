import Glibc

/// Huge pages for large tables with random access: with pages of 4 KiB, every cache miss also costs an
/// address translation.
enum HugePages {
  /// Smaller tables hardly gain.
  private static let leastBytes = 8 << 20
  private static let pageBytes: UInt = 2 << 20

  /// Requests huge pages for the part of new memory that fills them, if the system offers them on request.
  static func prefer(_ memory: UnsafeMutableRawPointer, _ byteCount: Int) {
    guard byteCount >= leastBytes else { return }
    let begin = UInt(bitPattern: memory)
    let first = (begin + pageBytes - 1) / pageBytes * pageBytes
    let end = (begin + UInt(byteCount)) / pageBytes * pageBytes
    // If the request fails, nothing changes.
    if first < end {
      _ = madvise(UnsafeMutableRawPointer(bitPattern: first), Int(end - first), MADV_HUGEPAGE)
    }
  }
}
