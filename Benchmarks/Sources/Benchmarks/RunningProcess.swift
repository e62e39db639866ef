import Glibc

/// A program that runs concurrently, with its output, until it is stopped.
final class RunningProcess {
  let id: pid_t
  private let path: String
  private let output: UnsafeMutablePointer<FILE>
  /// The file with its standard error.
  private let messagesPath: String
  private static let pollMicroseconds: UInt32 = 5_000

  /// Running processes, which must not outlive the benchmarks, however they end.
  nonisolated(unsafe) private static var running: [pid_t] = []
  private static let killingAtExit: Int32 = atexit { @Sendable in
    for id in running { kill(id, SIGKILL) }
  }

  init(_ path: String, _ arguments: [String]) {
    self.path = path
    messagesPath = SampleFile.path("log")
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0, let output = fdopen(ends[0], "r") else { BenchmarksCommand.fail("no pipe") }
    self.output = output
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    posix_spawn_file_actions_addclose(&actions, ends[1])
    let creation = O_WRONLY | O_CREAT | O_TRUNC
    posix_spawn_file_actions_addopen(&actions, 2, messagesPath, creation, 0o600)
    id = ChildProcess.spawn(path, arguments, &actions)
    close(ends[1])
    RunningProcess.running.append(id)
    _ = RunningProcess.killingAtExit
  }

  deinit {
    fclose(output)
    unlink(messagesPath)
  }

  /// The next line of its standard output.
  func readLine() -> String {
    var line = [CChar](repeating: 0, count: 4096)
    guard fgets(&line, Int32(line.count), output) != nil else { fail("has ended") }
    return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Waits for a line of its standard output.
  func waitForLine(containing text: String) -> String {
    while true {
      let line = readLine()
      if line.contains(text) { return line }
    }
  }

  /// Waits until its standard error has the text.
  func wait(for text: String, seconds: Int) {
    let end = now() + UInt64(seconds) * 1_000_000_000
    while !messages.contains(text) {
      if now() > end { fail("does not say \"\(text)\" within \(seconds) s") }
      usleep(Self.pollMicroseconds)
    }
  }

  /// The port in the URL on its standard error.
  var port: Int {
    guard let start = messages.firstRange(of: "url=http://127.0.0.1:")?.upperBound else {
      fail("serves no HTTP")
    }
    return Int(messages[start...].prefix { $0.isNumber }) ?? 0
  }

  /// Its current memory.
  var residentBytes: Int { Self.residentBytes(of: id) }

  static func residentBytes(of id: pid_t) -> Int {
    guard let file = fopen("/proc/\(id)/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
    let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return (text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096
  }

  /// Its only child, which it starts soon.
  func waitForChild() -> pid_t {
    let end = now() + 5_000_000_000
    while now() < end {
      if let file = fopen("/proc/\(id)/task/\(id)/children", "r") {
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        if fgets(&line, Int32(line.count), file) != nil { return pid_t(atoi(line)) }
      }
      usleep(Self.pollMicroseconds)
    }
    fail("has no child")
  }

  /// Its peak memory.
  var peakBytes: Int {
    guard let file = fopen("/proc/\(id)/status", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      guard text.hasPrefix("VmHWM:") else { continue }
      return (Int(text.filter(\.isNumber)) ?? 0) * 1024
    }
    return 0
  }

  /// Its processor time in nanoseconds, without threads that have ended.
  var processorNanoseconds: UInt64 { ThreadTime.all(of: id).reduce(0) { $0 + $1.nanoseconds } }

  /// Ends it with SIGTERM, and returns its standard error.
  func stop() -> String {
    kill(id, SIGTERM)
    var status: Int32 = 0
    guard waitpid(id, &status, 0) == id else { BenchmarksCommand.fail("cannot wait for \(path)") }
    RunningProcess.running.removeAll { $0 == id }
    if status != 0 { fail("ended with status \(status)") }
    return messages
  }

  func fail(_ problem: String) -> Never { BenchmarksCommand.fail("\(path) \(problem):\n\(messages)") }

  private var messages: String {
    guard let file = fopen(messagesPath, "r") else { return "" }
    defer { fclose(file) }
    var text: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { text += chunk[..<count] }
    return String(decoding: text, as: UTF8.self)
  }
}
