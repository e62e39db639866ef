import Glibc

/// What members that come and go cost the partitions: `Benchmarks/Members` measures that, in Python.
enum MembersCost {
  /// - Parameter options: for that program, with spaces between them.
  static func run(feedstore: String, options: String) {
    let root = #filePath.split(separator: "/").dropLast(4).map { "/" + $0 }.joined()
    let arguments = ["-B", "\(root)/Benchmarks/Members", "--feedstore", feedstore]
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Both write to standard output.
    fflush(nil)
    let words = options.split(separator: " ").map(String.init)
    let child = ChildProcess.spawn("/usr/bin/python3", arguments + words, &actions)
    var status: Int32 = 0
    guard waitpid(child, &status, 0) == child else { BenchmarksCommand.fail("cannot wait for its program") }
    if status != 0 { BenchmarksCommand.fail("Benchmarks/Members failed") }
  }
}
