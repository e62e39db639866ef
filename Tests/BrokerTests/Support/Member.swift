import Diagnostics
import Foundation
import Glibc
import ObservationSupport
import Oracle
import ProcessSupport
import Synchronization

/// A daemon in a separate process: the built command.
final class Member: Sendable {
  typealias End = ChildProcess.End

  let name: String
  private let process: ChildProcess
  /// The file for its standard error.
  let logPath: String
  private let state: Mutex<State>

  private struct State {
    var end: End?
    var mayEnd: Bool
    var guardian: MemberGuard?
  }

  /// Starts the process.
  ///
  /// - Parameters:
  ///   - settings: the configuration, by key.
  ///   - build: the build of the command.
  ///   - command: its subcommand.
  ///   - crash: the point at which it ends without warning, if any; see `CrashInjection`.
  init(
    _ name: String,
    _ settings: [String: String],
    build: Build = .current,
    command: String = "run",
    logPath: String,
    crash: String? = nil
  ) throws {
    self.name = name
    self.logPath = logPath
    state = Mutex(State(mayEnd: crash != nil))
    _ = FileManager.default.createFile(atPath: logPath, contents: nil)
    guard let log = FileHandle(forWritingAtPath: logPath) else {
      throw BrokerFailure("\(logPath) cannot be written")
    }
    defer { try? log.close() }
    var environment = ProcessInfo.processInfo.environment
    environment["FEEDSTORE_CRASH_AT"] = crash
    process = try ChildProcess(
      build.command.path,
      [command] + Build.options(settings),
      environment: environment,
      error: .file(log)
    )
    // The process may end before it is guarded.
    process.onEnd { [self] end in
      state.withLock { state in
        state.end = end
        state.guardian?.dismiss()
      }
    }
    let guardian = try MemberGuard(process.id)
    state.withLock { state in
      state.guardian = guardian
      if state.end != nil { guardian.dismiss() }
    }
  }

  var pid: Int32 { process.id }

  /// How the process ended; nil while it runs.
  var end: End? { state.withLock { $0.end } }

  /// How the process ended, as text.
  var endText: String {
    switch end {
    case .exited(let code)?: "exit code \(code)"
    case .killed(let signal)?: "killed by signal \(signal)"
    case nil: "it runs"
    }
  }

  /// Whether it ended unexpectedly.
  var hasFailed: Bool { state.withLock { $0.end != nil && !$0.mayEnd } }

  /// The number of lines in its log with all of these texts.
  func lines(with texts: String...) -> Int {
    let log = (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? ""
    return log.split(separator: "\n").count { line in texts.allSatisfy { line.contains($0) } }
  }

  /// The first line of its log about one of these events.
  func firstLine(about events: [LogEvent]) -> String? {
    guard !events.isEmpty, let log = FileManager.default.contents(atPath: logPath) else { return nil }
    for event in events {
      guard let found = log.range(of: Data(" event=\(event.name) ".utf8)) else { continue }
      let newline = UInt8(ascii: "\n")
      let begin = log[..<found.lowerBound].lastIndex(of: newline).map { $0 + 1 } ?? log.startIndex
      return String(decoding: log[begin...].prefix { $0 != newline }, as: UTF8.self)
    }
    return nil
  }

  /// How often it has restored each partition, by its log.
  var restorations: [Int: Int] {
    Dictionary(restoredLines.flatMap(\.partitions).map { ($0, 1) }, uniquingKeysWith: +)
  }

  /// The member's restorations, by its log.
  struct RestoredLine {
    let partitions: [Int]
    /// Records of the changesets topic that were read.
    let records: Int
    /// How many of the partitions had been followed on standby.
    let standby: Int
  }

  var restoredLines: [RestoredLine] {
    let log = (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? ""
    return log.split(separator: "\n").filter { $0.contains(" event=restore.finished ") }.map { line in
      func field(_ name: String) -> Substring {
        let field = line.split(separator: " ").first { $0.hasPrefix(name + "=") }
        return field?.dropFirst(name.count + 1) ?? ""
      }
      return RestoredLine(
        partitions: field("partitions").split(separator: ",").compactMap { Int($0) },
        records: Int(field("records")) ?? 0,
        standby: Int(field("standby")) ?? 0
      )
    }
  }

  /// Requests an orderly stop.
  func askToStop() { signal(SIGTERM, mayEnd: true) }

  /// Kills the process, even while it is suspended.
  func kill() { signal(SIGKILL, mayEnd: true) }

  /// Suspends the process, like a machine that hangs.
  func suspend() { signal(SIGSTOP) }
  func resume() { signal(SIGCONT) }

  private func signal(_ signal: Int32, mayEnd: Bool = false) {
    state.withLock { state in
      // After its end, its id may be reused.
      guard state.end == nil else { return }
      if mayEnd { state.mayEnd = true }
      process.signal(signal)
    }
  }
}

/// Ensures that a process does not outlive the tests, however they end: a shell waits for the end of a pipe that only
/// the tests hold open, and then kills the process.
final class MemberGuard: Sendable {
  private let pipe: Mutex<FileHandle?>

  /// - Parameter pid: the process id.
  init(_ pid: Int32) throws {
    let input = Pipe()
    // A line means that the process has already ended.
    let script = "trap '' INT TERM; read line || kill -9 \(pid)"
    let shell = try ChildProcess("/bin/sh", ["-c", script], input: .pipe(input))
    shell.onEnd { _ in }
    pipe = Mutex(input.fileHandleForWriting)
  }

  /// Ends the guard, after the process has ended.
  func dismiss() {
    pipe.withLock { pipe in
      try? pipe?.write(contentsOf: Data("\n".utf8))
      try? pipe?.close()
      pipe = nil
    }
  }

  /// Closing the pipe without a line kills the process.
  deinit { pipe.withLock { try? $0?.close() } }
}
