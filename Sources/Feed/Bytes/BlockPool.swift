import CXxhash
import Glibc

/// A pool of freed memory blocks, reused for data of about the same size.
///
/// Most data replaces other data. Returning a block to the allocator touches the block and its neighbours, which left
/// the processor's caches long ago. The pool only stores the block's address, and prefetches the block. Not
/// thread-safe.
///
/// All blocks come from the allocator, so each can also be released with `free`.
public final class BlockPool {
  /// The feeds' reference to a pool, which must outlive it. Using it counts no references.
  struct Handle {
    fileprivate let storage: UnsafeMutablePointer<Storage>
  }

  fileprivate struct Storage {
    /// By size, in steps of 16 bytes.
    let stacks: UnsafeMutablePointer<Stack>
    let maxBytes: Int
    var byteCount = 0
  }

  /// Blocks of one size.
  fileprivate struct Stack {
    var blocks: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>>?
    var count = 0
    var capacity = 0
  }

  let handle: Handle
  /// The size of the blocks in this stack.
  var byteCount: Int { handle.storage.pointee.byteCount }

  /// 16 bytes.
  private static let stepBits = 4
  /// Larger data goes to the allocator: copying it costs more than finding memory for it.
  private static let sizeCount = 64

  /// - Parameter maxBytes: the maximum total size of the pooled blocks, in bytes.
  public init(maxBytes: Int = 4 << 20) {
    let stacks = UnsafeMutablePointer<Stack>.allocate(capacity: BlockPool.sizeCount)
    stacks.initialize(repeating: Stack(), count: BlockPool.sizeCount)
    handle = Handle(storage: .allocate(capacity: 1))
    handle.storage.initialize(to: Storage(stacks: stacks, maxBytes: maxBytes))
  }

  deinit {
    let stacks = handle.storage.pointee.stacks
    for size in 0..<BlockPool.sizeCount {
      for place in 0..<stacks[size].count { free(stacks[size].blocks?[place]) }
      free(stacks[size].blocks)
    }
    stacks.deallocate()
    handle.storage.deallocate()
  }

  /// A block of at least this size, from a pool if there is one; its bytes may be old.
  @inline(__always)
  static func block(_ count: Int, from pool: Handle?) -> UnsafeMutablePointer<UInt8> {
    pool?.pop(sizeIndex(count)) ?? allocate(count)
  }

  /// Returns a block of which this many bytes were used, to a pool if there is one.
  @inline(__always)
  static func giveBack(_ block: UnsafeMutablePointer<UInt8>?, _ count: Int, to pool: Handle?) {
    guard let block else { return }
    if pool?.push(block, sizeIndex(count)) != true { free(block) }
  }

  /// Equal for data that may reuse the same block. The steps suit glibc's malloc, which puts 8 bytes before
  /// each block: no memory is wasted.
  private static func sizeIndex(_ count: Int) -> Int { (count + 7) >> stepBits }

  fileprivate static func room(_ size: Int) -> Int { size << stepBits + 8 }

  private static func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    let size = sizeIndex(count)
    guard let memory = malloc(keeps(size) ? room(size) : count) else { fatalError("out of memory") }
    return memory.assumingMemoryBound(to: UInt8.self)
  }

  fileprivate static func keeps(_ size: Int) -> Bool { isKeeping && size < sizeCount }

  /// Whether the pool keeps blocks: not with the address sanitizer, which then misses uses after release.
  static var isKeeping: Bool {
    #if SANITIZE_ADDRESS
      false
    #else
      true
    #endif
  }
}

extension BlockPool.Handle {
  fileprivate func pop(_ size: Int) -> UnsafeMutablePointer<UInt8>? {
    guard BlockPool.keeps(size) else { return nil }
    let stack = storage.pointee.stacks + size
    guard stack.pointee.count > 0 else { return nil }
    stack.pointee.count -= 1
    storage.pointee.byteCount -= BlockPool.room(size)
    return stack.pointee.blocks?[stack.pointee.count]
  }

  fileprivate func push(_ block: UnsafeMutablePointer<UInt8>, _ size: Int) -> Bool {
    guard BlockPool.keeps(size), storage.pointee.byteCount + BlockPool.room(size) <= storage.pointee.maxBytes
    else { return false }
    let stack = storage.pointee.stacks + size
    if stack.pointee.count == stack.pointee.capacity { stack.pointee.grow() }
    stack.pointee.blocks?[stack.pointee.count] = block
    // The next block to hand out.
    feedstore_prefetch_for_writing(block, BlockPool.room(size))
    stack.pointee.count += 1
    storage.pointee.byteCount += BlockPool.room(size)
    return true
  }
}

extension BlockPool.Stack {
  fileprivate mutating func grow() {
    let larger = max(16, capacity * 2)
    let bytes = larger * MemoryLayout<UnsafeMutablePointer<UInt8>>.stride
    guard let memory = realloc(blocks, bytes) else { fatalError("out of memory") }
    blocks = memory.assumingMemoryBound(to: UnsafeMutablePointer<UInt8>.self)
    capacity = larger
  }
}
