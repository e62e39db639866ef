import Glibc

/// Blocks of memory that were given back, to be handed out again for data of about the same size.
///
/// Most data replaces other data. Whoever gives a block back to the allocator touches it and its neighbours, which
/// left the processor's caches long ago; here only its address is noted. Not thread-safe.
///
/// All blocks are the allocator's: each may also be freed with `free`.
public final class BlockPool {
  /// Blocks of one size.
  private struct Stack {
    var blocks: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>?
    var count = 0
    var capacity = 0
  }

  /// By size, in steps of 16 bytes.
  private let stacks: UnsafeMutablePointer<Stack>
  private let maxBytes: Int
  /// What the blocks that are kept here have room for.
  @exclusivity(unchecked) private(set) var byteCount = 0

  /// 16 bytes.
  private static let stepBits = 4
  /// Larger data goes to the allocator: to copy it costs more than to find a place for it.
  private static let sizeCount = 64

  /// - Parameter maxBytes: the most bytes of room that are kept.
  public init(maxBytes: Int = 4 << 20) {
    self.maxBytes = maxBytes
    stacks = .allocate(capacity: BlockPool.sizeCount)
    stacks.initialize(repeating: Stack(), count: BlockPool.sizeCount)
  }

  deinit {
    for size in 0..<BlockPool.sizeCount {
      for place in 0..<stacks[size].count { free(stacks[size].blocks?[place]) }
      free(stacks[size].blocks)
    }
    stacks.deallocate()
  }

  /// A block that has room for so many bytes; from a pool if there is one, and then perhaps used before.
  @inline(__always)
  static func block(_ count: Int, from pool: BlockPool?) -> UnsafeMutablePointer<UInt8> {
    pool?.pop(sizeIndex(count)) ?? allocate(count)
  }

  /// Gives a block back of which so many bytes were used; to a pool if there is one.
  @inline(__always)
  static func giveBack(_ block: UnsafeMutablePointer<UInt8>?, _ count: Int, to pool: BlockPool?) {
    guard let block else { return }
    if pool?.push(block, sizeIndex(count)) != true { free(block) }
  }

  /// Equal for data that may follow each other in one block. The steps are such that malloc of glibc, which puts 8 bytes
  /// before each block, wastes nothing.
  private static func sizeIndex(_ count: Int) -> Int { (count + 7) >> stepBits }

  private static func room(_ size: Int) -> Int { size << stepBits + 8 }

  private static func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    let size = sizeIndex(count)
    guard let memory = malloc(size < sizeCount ? room(size) : count) else { fatalError("out of memory") }
    return memory.assumingMemoryBound(to: UInt8.self)
  }

  private func pop(_ size: Int) -> UnsafeMutablePointer<UInt8>? {
    guard size < BlockPool.sizeCount, stacks[size].count > 0 else { return nil }
    stacks[size].count -= 1
    byteCount -= BlockPool.room(size)
    return stacks[size].blocks?[stacks[size].count]
  }

  private func push(_ block: UnsafeMutablePointer<UInt8>, _ size: Int) -> Bool {
    guard size < BlockPool.sizeCount, byteCount + BlockPool.room(size) <= maxBytes else { return false }
    if stacks[size].count == stacks[size].capacity { grow(size) }
    stacks[size].blocks?[stacks[size].count] = block
    stacks[size].count += 1
    byteCount += BlockPool.room(size)
    return true
  }

  private func grow(_ size: Int) {
    let capacity = max(16, stacks[size].capacity * 2)
    let bytes = capacity * MemoryLayout<UnsafeMutablePointer<UInt8>>.stride
    guard let memory = realloc(stacks[size].blocks, bytes) else { fatalError("out of memory") }
    stacks[size].blocks = memory.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>.self)
    stacks[size].capacity = capacity
  }
}
