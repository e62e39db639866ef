import Glibc

/// Huge pages for large tables, which are looked at in random places: with pages of 4 KiB, every place that is in no cache also
/// costs a search for where its page is.
enum HugePages {
  /// Smaller tables hardly gain.
  private static let leastBytes = 8 << 20
  private static let pageBytes: UInt = 2 << 20

  /// Asks for huge pages, where the system offers them on request, in new memory as far as it fills them.
  static func prefer(_ memory: UnsafeMutableRawPointer, _ byteCount: Int) {
    guard byteCount >= leastBytes else { return }
    let begin = UInt(bitPattern: memory)
    let first = (begin + pageBytes - 1) / pageBytes * pageBytes
    let end = (begin + UInt(byteCount)) / pageBytes * pageBytes
    // Without them it is as it was.
    if first < end {
      _ = madvise(UnsafeMutableRawPointer(bitPattern: first), Int(end - first), MADV_HUGEPAGE)
    }
  }
}
