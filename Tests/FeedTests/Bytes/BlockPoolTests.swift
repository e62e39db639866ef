import Glibc
import Oracle
import Testing

@testable import Feed

@Suite(.enabled(if: BlockPool.isKeeping, "the address sanitizer does without pools")) struct BlockPoolTests {
  @Test func `a block serves data of about its size again`() {
    let pool = BlockPool()
    let block = BlockPool.block(200, from: pool.handle)
    BlockPool.giveBack(block, 200, to: pool.handle)
    #expect(pool.byteCount >= 200)
    let smaller = BlockPool.block(100, from: pool.handle)
    #expect(smaller != block)
    #expect(BlockPool.block(199, from: pool.handle) == block)
    #expect(pool.byteCount == 0)
    free(smaller)
    free(block)
  }

  @Test func `keeps no more than it may, and no large blocks`() {
    let pool = BlockPool(maxBytes: 1000)
    for count in [0, 1, 300, 300, 300, 300, 100, 5000] {
      BlockPool.giveBack(BlockPool.block(count, from: nil), count, to: pool.handle)
      #expect(pool.byteCount <= 1000)
    }
    #expect(pool.byteCount > 900)
  }

  @Test func `does without a pool`() {
    let block = BlockPool.block(10, from: nil)
    memset(block, 1, 10)
    BlockPool.giveBack(block, 10, to: nil)
    BlockPool.giveBack(nil, 0, to: nil)
  }

  /// Blocks in use at the same time share no byte, in any order of use and return.
  @Test(arguments: RandomCases.seeds(1...5))
  func `hands out what nobody uses`(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let pool = BlockPool(maxBytes: 20_000)
    var used: [(block: UnsafeMutablePointer<UInt8>, count: Int, mark: UInt8)] = []
    var reused = 0
    for step in 0..<5000 {
      if random.below(2) == 0, used.count < 300 {
        let count = random.below(step % 7 == 0 ? 2000 : 300)
        let before = pool.byteCount
        let block = BlockPool.block(count, from: pool.handle)
        if pool.byteCount < before { reused += 1 }
        let mark = UInt8(random.below(256))
        memset(block, Int32(mark), count)
        used.append((block, count, mark))
      } else if !used.isEmpty {
        let (block, count, mark) = used.remove(at: random.below(used.count))
        #expect(UnsafeBufferPointer(start: block, count: count).allSatisfy { $0 == mark }, "seed \(seed)")
        BlockPool.giveBack(block, count, to: pool.handle)
      }
      #expect(pool.byteCount <= 20_000)
    }
    #expect(reused > 500)
    for (block, count, _) in used { BlockPool.giveBack(block, count, to: nil) }
  }
}
