import CMalloc

/// Controls whether the allocator keeps freed memory.
public enum FreedMemory {
  /// The largest block that glibc allocates from its heaps.
  private static let blockBytes: Int32 = 32 << 20
  private static let keptBytes: Int32 = 256 << 20

  /// Makes the allocator keep freed memory for reuse.
  ///
  /// By default, glibc returns the end of a heap to the system as soon as 128 kB of it are free, and requests it again
  /// for the next block. For a program that fetches, applies and frees hundreds of megabytes per second, that takes a
  /// tenth of the time. Call ``giveBack()`` when the memory is no longer needed.
  public static func keep() { feedstore_malloc_keep(blockBytes, keptBytes) }

  /// Has room at the end of this thread's heap for blocks that are about to be allocated.
  ///
  /// In threads other than the first one, glibc extends the heap by a page at a time, with a system call for each that waits for
  /// all others that change or touch new memory of the process. After ``keep()`` the room stays until it is used.
  ///
  /// - Parameter bytes: 16 MiB if it is more.
  public static func makeRoom(for bytes: Int) { feedstore_malloc_extend(min(bytes, Int(blockBytes) / 2)) }

  /// Returns free memory to the system. It takes some milliseconds for each gigabyte of heap.
  public static func giveBack() { feedstore_malloc_trim() }
}
