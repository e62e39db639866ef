import Glibc

@testable import Feed

/// Memory before an unreadable page: reading a byte beyond a text at its end crashes.
final class GuardedPages {
  private let start: UnsafeMutableRawPointer
  private let capacity: Int
  private static let pageSize = sysconf(Int32(_SC_PAGESIZE))

  /// - Parameter capacity: bytes of the longest text.
  init(capacity: Int) {
    self.capacity = (capacity / Self.pageSize + 1) * Self.pageSize
    let count = self.capacity + Self.pageSize
    guard let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
      memory != MAP_FAILED, mprotect(memory + self.capacity, Self.pageSize, PROT_NONE) == 0
    else { fatalError("no memory") }
    start = memory
  }

  deinit { munmap(start, capacity + Self.pageSize) }

  /// A copy of the bytes at the end; valid until the next.
  func place(_ bytes: [UInt8]) -> ByteSpan {
    precondition(bytes.count <= capacity)
    let copy = UnsafeMutableRawBufferPointer(start: start + (capacity - bytes.count), count: bytes.count)
    copy.copyBytes(from: bytes)
    return ByteSpan(UnsafeRawBufferPointer(copy))
  }
}
