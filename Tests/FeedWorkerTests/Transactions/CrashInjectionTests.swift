import Synchronization
import Testing

@testable import FeedTransactions

struct CrashInjectionTests {
  /// Counts instead of ending the process.
  private final class Ends: Sendable {
    let count = Atomic<Int>(0)
    func add() { count.add(1, ordering: .relaxed) }
    var value: Int { count.load(ordering: .relaxed) }
  }

  @Test(arguments: CrashInjection.Point.allCases)
  func `the process ends where the text says`(point: CrashInjection.Point) throws {
    let ends = Ends()
    let crash = try #require(CrashInjection(point.rawValue) { ends.add() })
    for other in CrashInjection.Point.allCases where other != point {
      crash.reach(other)
      #expect(!crash.isNext(other))
    }
    #expect(ends.value == 0)
    #expect(crash.isNext(point))
    crash.reach(point)
    #expect(ends.value == 1)
    #expect(!crash.isNext(point))
  }

  @Test func `a number says which time`() throws {
    let ends = Ends()
    let crash = try #require(CrashInjection("after-produce:3") { ends.add() })
    for _ in 1..<3 {
      #expect(!crash.isNext(.afterProduce))
      crash.reach(.afterProduce)
    }
    #expect(ends.value == 0)
    #expect(crash.isNext(.afterProduce))
    crash.reach(.afterProduce)
    #expect(ends.value == 1)
  }

  @Test(arguments: ["", "somewhere", "after-begin:", "after-begin:0", "after-begin:-1", "after-begin:x"])
  func `other texts are none`(text: String) {
    #expect(CrashInjection(text) {} == nil)
  }
}
