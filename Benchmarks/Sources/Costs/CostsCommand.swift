import CCounting
import Workloads

/// Runs one workload, and prints the number of allocations. Under callgrind, which collects only in `counted_part`,
/// instructions are counted as well: see `Tests/CostGate`.
@main
enum CostsCommand {
  private static let usage = """
    usage: Costs updates|moves|inserts|replace|restore
           Costs replay REPLAY-FILE

    Prints how many changes, items or records there were, and how many allocations.
    """

  static func main() {
    checkCounting()
    let arguments = CommandLine.arguments.dropFirst()
    guard let name = arguments.first, let workload = workload(name, arguments.dropFirst().first) else {
      fail(usage)
    }
    let thread = SingleThread()
    let measured = Measured(workload)
    thread.run { await measured.workload.prepare() }
    thread.count { await measured.workload.run() }
    thread.run { await measured.workload.check() }
    print(#"{"operations":\#(measured.workload.operationCount),"allocations":\#(counted_allocations())}"#)
  }

  private static func workload(_ name: String, _ path: String?) -> (any Workload)? {
    switch (name, path) {
    case ("updates", nil): return Updates()
    case ("moves", nil): return LargeFeed.moves()
    case ("inserts", nil): return LargeFeed.inserts()
    case ("replace", nil): return Replace()
    case ("restore", nil): return Restore()
    case ("replay", let path?):
      guard let lines = ReplayLines(path: path) else { fail("cannot read \(path)") }
      return ReplayFile(lines)
    default: return nil
    }
  }

  /// Checks that our own functions are called.
  private static func checkCounting() {
    let (allocations, randomNumbers) = (all_allocations(), all_random_numbers())
    var random = SystemRandomNumberGenerator()
    UnsafeMutableRawPointer.allocate(byteCount: Int(random.next() % 100) + 1, alignment: 1).deallocate()
    guard all_allocations() > allocations, all_random_numbers() > randomNumbers else {
      fail("the allocator or the source of random numbers is not the one in CCounting")
    }
  }
}

/// Holds a workload, which has mutating methods.
private final class Measured: @unchecked Sendable {
  // Unchecked: there is no other thread.
  var workload: any Workload

  init(_ workload: any Workload) { self.workload = workload }
}
