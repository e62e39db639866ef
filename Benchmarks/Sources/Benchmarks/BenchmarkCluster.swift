import CBareLoop
import Glibc

/// The cluster for measurements: the one named by `FEEDSTORE_TEST_BOOTSTRAP`, or a stand-in of two brokers in a
/// separate process.
final class BenchmarkCluster {
  let address: String
  let description: String
  private let standIn: RunningProcess?
  private let feedstore: String

  init(feedstore: String) {
    self.feedstore = feedstore
    if let given = getenv("FEEDSTORE_TEST_BOOTSTRAP") {
      address = String(cString: given)
      description = "the cluster at \(address)"
      standIn = nil
      return
    }
    let root = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1)
    let arguments = ["\(root)/Tests/StandInCluster", "--brokers", "2", "--markers", "0"]
    let process = RunningProcess("/usr/bin/python3", arguments)
    // bootstrap.servers=127.0.0.1:1,127.0.0.1:2, control port 3
    guard let servers = process.readLine().split(separator: " ").first?.split(separator: "=").last else {
      process.fail("does not say where it is")
    }
    address = String(servers.hasSuffix(",") ? servers.dropLast() : servers)
    description = "Tests/StandInCluster, two brokers in one process, which is written in Python"
    standIn = process
  }

  deinit { _ = standIn?.stop() }

  /// Topics of one run, with one partition each.
  struct Topics {
    var sections: String
    var items: String
    var changesets: String
    var rejected: String

    /// - Parameters:
    ///   - items: the name of an existing or new input topic.
    ///   - name: distinguishes the run's other topics.
    init(items: String, name: String) {
      self.items = items
      sections = name + ".sections"
      changesets = name + ".changesets"
      rejected = name + ".rejected"
    }

    /// The command's arguments for these topics.
    var arguments: [String] {
      [
        "--set", "topics.sections=\(sections)", "--set", "topics.items=\(items)",
        "--set", "topics.changesets=\(changesets)", "--set", "topics.rejected=\(rejected)",
      ]
    }
  }

  var arguments: [String] { ["--set", "kafka.bootstrap.servers=\(address)"] }

  func create(_ topics: Topics) {
    _ = ChildProcess.run(
      feedstore,
      ["topics", "--create", "--partitions", "1", "--replication-factor", "1"] + arguments + topics.arguments
    )
  }

  /// Deletes the output of a run, but not its input.
  func deleteOutput(of topics: Topics) {
    for name in [topics.sections, topics.changesets, topics.rejected] { deleteTopic(address, name) }
  }

  /// The programs to measure.
  enum Program {
    case daemon(settings: [String])
    /// A mapping of the topic of `items` to that of the changesets.
    case ingest(settings: [String])
    /// The loop in C, with a window in milliseconds.
    case bareLoop(window: Int, recordsPerOutput: Int)
  }

  /// Starts a program on topics. Returns once it reads its input.
  func start(_ program: Program, group: String, on topics: Topics) -> RunningProcess {
    let process: RunningProcess
    switch program {
    case .daemon(let settings):
      let all = settings + ["kafka.group.id=\(group)"]
      process = RunningProcess(
        feedstore,
        ["run"] + arguments + topics.arguments + all.flatMap { ["--set", $0] }
      )
      process.wait(for: " restored ", seconds: 60)
    case .ingest(let settings):
      var output = topics
      output.items = topics.changesets
      output.changesets = topics.sections
      output.sections = topics.changesets
      process = RunningProcess(
        feedstore,
        ["ingest"] + arguments + output.arguments
          + (["ingest.group=\(group)"] + settings).flatMap { ["--set", $0] }
      )
      process.wait(for: "event=group.assigned", seconds: 60)
    case .bareLoop(let window, let recordsPerOutput):
      process = RunningProcess(
        "/proc/self/exe",
        [
          BenchmarksCommand.bareLoop, "\(window)", address, topics.items, topics.changesets, group,
          "\(recordsPerOutput)",
        ]
      )
      process.wait(for: "ready", seconds: 60)
    }
    return process
  }

  /// Waits until a group has committed up to an offset of the input.
  func wait(for offset: Int, by group: String, of topics: Topics, while process: RunningProcess, seconds: Int)
  {
    let watch = openGroupWatch(address, group)
    defer { closeGroupWatch(watch) }
    let end = now() + UInt64(seconds) * 1_000_000_000
    while committedOffset(watch, topics.items) < offset {
      if now() > end { process.fail("has not committed \(offset) records within \(seconds) s") }
      usleep(10_000)
    }
  }
}
