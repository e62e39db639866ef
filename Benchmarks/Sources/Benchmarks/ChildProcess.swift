import Glibc

/// A completed run of a program, with the resources it used.
struct ChildProcess {
  var wallNanoseconds: UInt64
  var processorNanoseconds: UInt64
  /// The peak memory in bytes; at least the parent's at the start.
  var peakMemory: Int

  /// Runs a program without output and waits for it.
  static func run(_ path: String, _ arguments: [String]) -> ChildProcess {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in [Int32(1), 2] {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
    }
    let started = now()
    let child = spawn(path, arguments, &actions)
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(child, &status, 0, &usage) == child else { BenchmarksCommand.fail("cannot wait for \(path)") }
    let wall = now() - started
    guard status == 0 else {
      BenchmarksCommand.fail("\(path) \(arguments.joined(separator: " ")) failed with status \(status)")
    }
    return ChildProcess(
      wallNanoseconds: wall,
      processorNanoseconds: nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime),
      peakMemory: usage.ru_maxrss * 1024
    )
  }

  /// Starts a program.
  static func spawn(
    _ path: String,
    _ arguments: [String],
    _ actions: inout posix_spawn_file_actions_t
  ) -> pid_t {
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    // Signals that this thread blocks are not blocked there.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var child: pid_t = 0
    let code = posix_spawn(&child, path, &actions, &attributes, &words, environ)
    guard code == 0 else { BenchmarksCommand.fail("cannot run \(path): \(String(cString: strerror(code)))") }
    return child
  }

  private static func nanoseconds(_ time: timeval) -> UInt64 {
    UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_usec) * 1000
  }
}
