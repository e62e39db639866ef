import CMalloc

/// What the process has freed and the allocator keeps for it.
public enum FreedMemory {
  /// The greatest block that glibc takes out of its heaps.
  private static let blockBytes: Int32 = 32 << 20
  private static let keptBytes: Int32 = 256 << 20

  /// Has the allocator keep what is freed, for the next.
  ///
  /// By default glibc gives the end of a heap back to the system as soon as 128 kB of it are free, and takes it again
  /// with the next block: of a program that fetches, applies and frees hundreds of megabytes a second, that takes a tenth
  /// of the time. Call ``giveBack()`` when the memory is not needed any more.
  public static func keep() { feedstore_malloc_keep(blockBytes, keptBytes) }

  /// Gives what is free back to the system. It takes some milliseconds for each gigabyte of heap.
  public static func giveBack() { feedstore_malloc_trim() }
}
