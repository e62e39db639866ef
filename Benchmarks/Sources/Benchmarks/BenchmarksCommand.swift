import CBareLoop
import Glibc

/// Measures FeedStore and prints Markdown tables.
@main
enum BenchmarksCommand {
  private static let outsideNames = [
    "replay", "memory", "kafka", "backlog", "ingest", "latency", "members", "http", "fanout", "windows",
    "metrics",
  ]
  private static let names = outsideNames + ["change", "ordered", "replace", "restore", "contents"]
  private static let usage = """
    usage: Benchmarks [--feedstore FILE] [--only NAME] [--runs N] [--members OPTIONS] [REPLAY-FILE…]

    --feedstore FILE  the release build of the command, for what is measured from outside
    --only NAME       one measurement instead of all: \(names.joined(separator: ", "))
    --runs N          how often backlog, ingest, latency and fanout are measured, instead of 5, 5, 3 and 3 times
    --members OPTIONS for Benchmarks/Members, in one argument, such as "--items 50000,600000"

    """

  /// The argument with which ``KafkaCost`` starts this program as a bare loop.
  static let bareLoop = "--bare-loop"

  static func main() async {
    if CommandLine.arguments.dropFirst().first == bareLoop { runBareLoop(CommandLine.arguments.dropFirst(2)) }
    var only: String?
    var feedstore: String?
    var runs: Int?
    var members = ""
    var files: [String] = []
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch argument {
      case "--only": only = arguments.popFirst()
      case "--feedstore": feedstore = arguments.popFirst()
      case "--runs":
        runs = arguments.popFirst().flatMap { Int($0) }
        guard let runs, runs > 0 else { fail("--runs needs a number\n" + usage) }
      case "--members":
        guard let options = arguments.popFirst() else { fail("--members needs options\n" + usage) }
        members = options
      case "--help":
        print(usage, terminator: "")
        return
      default: files.append(argument)
      }
    }
    guard only.map(names.contains) ?? true else {
      fail("there is no measurement of that name\n" + usage)
    }
    func isWanted(_ name: String) -> Bool { only == nil || only == name }

    print(Machine.description + "\n")
    // External measurements come first, because the system includes a parent's peak memory in its children's.
    if outsideNames.contains(where: isWanted) {
      guard let feedstore else {
        fail("--feedstore is needed to measure \(outsideNames.joined(separator: ", "))\n" + usage)
      }
      if isWanted("replay") { ReplayCost.run(feedstore: feedstore, files: files) }
      if isWanted("memory") { MemoryCost.run(feedstore: feedstore) }
      if isWanted("kafka") { await KafkaCost.run(feedstore: feedstore) }
      if isWanted("backlog") { BacklogCost.run(feedstore: feedstore, runs: runs) }
      if isWanted("ingest") { IngestCost.run(feedstore: feedstore, runs: runs) }
      if isWanted("latency") { LatencyCost.run(feedstore: feedstore, runs: runs) }
      if isWanted("members") { MembersCost.run(feedstore: feedstore, options: members) }
      if isWanted("http") { HTTPCost.run(feedstore: feedstore) }
      if isWanted("fanout") { FanoutCost.run(feedstore: feedstore, nginx: path(of: "nginx"), runs: runs) }
      if isWanted("windows") { WindowCost.run(feedstore: feedstore) }
      if isWanted("metrics") { MetricsCost.run(feedstore: feedstore) }
    }
    if isWanted("change") { await ChangeCost.run() }
    if isWanted("ordered") { await OrderedCost.run(redis: path(of: "redis-server")) }
    if isWanted("replace") { ReplaceCost.run() }
    if isWanted("restore") { await RestoreCost.run() }
    if isWanted("contents") { await ContentsCost.run() }
  }

  /// Where a program is that is installed; nil if it is not.
  private static func path(of program: String) -> String? {
    let directories = (getenv("PATH").map { String(cString: $0) } ?? "").split(separator: ":")
    return directories.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
  }

  /// Runs this program as a bare loop, with a window and, unless it has an embedded broker, the cluster and topics.
  private static func runBareLoop(_ arguments: ArraySlice<String>) -> Never {
    let words = Array(arguments).map { strdup($0) }
    let isOnCluster = words.count == 6
    let options = BareLoopOptions(
      address: isOnCluster ? words[1] : nil,
      input: isOnCluster ? words[2] : strdup("feeds.items"),
      output: isOnCluster ? words[3] : strdup("feeds.changesets"),
      group: isOnCluster ? words[4] : strdup("bare-loop"),
      windowMilliseconds: words.first.flatMap { $0 }.map { Int32(atoi($0)) } ?? 0,
      recordsPerOutput: isOnCluster ? words[5].map { Int32(atoi($0)) } ?? 2 : 2,
      lingerMilliseconds: strdup(isOnCluster ? "0" : "5")
    )
    // At once: the loop's clients still exist, and must not be disturbed by exit handlers.
    _exit(CBareLoop.runBareLoop(options))
  }

  /// Reports progress on standard error.
  static func note(_ message: String) {
    _ = (message + "\n").withCString { write(2, $0, strlen($0)) }
  }

  static func fail(_ message: String) -> Never {
    note("Benchmarks: \(message)")
    exit(2)
  }
}
