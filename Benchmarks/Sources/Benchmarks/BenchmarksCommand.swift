import CBareLoop
import Glibc

/// Measures FeedStore and prints Markdown tables.
@main
enum BenchmarksCommand {
  private static let usage = """
    usage: Benchmarks [--feedstore FILE] [--only change|replace|snapshot|replay|memory|restore|kafka|http] [REPLAY-FILE…]

    --feedstore FILE  the release build of the command, for what is measured from outside
    --only NAME       one measurement instead of all

    """

  /// The argument with which ``KafkaCost`` runs this program once more, as a bare loop.
  static let bareLoop = "--bare-loop"

  static func main() async {
    if CommandLine.arguments.count == 3, CommandLine.arguments[1] == bareLoop {
      // At once: the loop's clients are still there, whom nothing that ends with the process is to disturb.
      _exit(runBareLoop(Int32(CommandLine.arguments[2]) ?? 0))
    }
    var only: String?
    var feedstore: String?
    var files: [String] = []
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch argument {
      case "--only": only = arguments.popFirst()
      case "--feedstore": feedstore = arguments.popFirst()
      case "--help":
        print(usage, terminator: "")
        return
      default: files.append(argument)
      }
    }
    guard
      only.map(["change", "replace", "snapshot", "replay", "memory", "restore", "kafka", "http"].contains)
        ?? true
    else {
      fail("there is no measurement of that name\n" + usage)
    }
    func isWanted(_ name: String) -> Bool { only == nil || only == name }

    print(Machine.description + "\n")
    // What is measured from outside comes first: the system counts a parent's memory to its children's.
    if ["replay", "memory", "kafka", "http"].contains(where: isWanted) {
      guard let feedstore else {
        fail("--feedstore is needed to measure replay, memory, kafka and http\n" + usage)
      }
      if isWanted("replay") { ReplayCost.run(feedstore: feedstore, files: files) }
      if isWanted("memory") { MemoryCost.run(feedstore: feedstore) }
      if isWanted("kafka") { await KafkaCost.run(feedstore: feedstore) }
      if isWanted("http") { HTTPCost.run(feedstore: feedstore) }
    }
    if isWanted("change") { await ChangeCost.run() }
    if isWanted("replace") { ReplaceCost.run() }
    if isWanted("snapshot") { SnapshotCost.run() }
    if isWanted("restore") { await RestoreCost.run() }
  }

  static func fail(_ message: String) -> Never {
    let line = "Benchmarks: \(message)\n"
    _ = line.withCString { write(2, $0, strlen($0)) }
    exit(2)
  }
}
