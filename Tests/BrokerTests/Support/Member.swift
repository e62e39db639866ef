import FeedTestSupport
import Foundation
import Glibc
import ObservationSupport
import Service

/// A daemon in a process of its own: the built command, which stands beside the tests.
final class Member: Sendable {
  /// How it ended.
  enum End: Sendable, Equatable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  let name: String
  let pid: Int32
  /// Where its standard error goes.
  let logPath: String
  private let life: MemberLife

  /// Starts it.
  ///
  /// - Parameters:
  ///   - settings: the configuration, by key.
  ///   - build: the build of the command.
  ///   - crash: where it is to end without warning, if it is to; see `CrashInjection`.
  init(
    _ name: String,
    _ settings: [String: String],
    build: Build = .current,
    logPath: String,
    crash: String? = nil
  ) throws {
    self.name = name
    self.logPath = logPath
    let life = MemberLife(mayEnd: crash != nil)
    self.life = life
    _ = FileManager.default.createFile(atPath: logPath, contents: nil)
    guard let log = FileHandle(forWritingAtPath: logPath) else {
      throw BrokerFailure("\(logPath) cannot be written")
    }
    defer { try? log.close() }
    let process = Process()
    process.executableURL = try build.command
    process.arguments = ["run"] + Build.options(settings)
    process.environment = ProcessInfo.processInfo.environment
    process.environment?["FEEDSTORE_CRASH_AT"] = crash
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = log
    process.terminationHandler = { process in
      let status = process.terminationStatus
      let wasKilled = process.terminationReason == .uncaughtSignal
      life.note(wasKilled ? .killed(signal: status) : .exited(status))
    }
    try process.run()
    pid = process.processIdentifier
    life.guarded(by: try MemberGuard(pid))
  }

  /// How it ended; nil while it runs.
  var end: End? { life.end }

  /// How it ended, in words.
  var endText: String {
    switch end {
    case .exited(let code)?: "exit code \(code)"
    case .killed(let signal)?: "killed by signal \(signal)"
    case nil: "it runs"
    }
  }

  /// Whether it ended although nobody wanted it to.
  var hasFailed: Bool { life.hasFailed }

  /// How many lines of its log have this text.
  func lines(with text: String) -> Int {
    let log = (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? ""
    return log.split(separator: "\n").count { $0.contains(text) }
  }

  /// The first line of its log about one of these events.
  func firstLine(about events: [LogEvent]) -> String? {
    guard !events.isEmpty, let log = FileManager.default.contents(atPath: logPath) else { return nil }
    for event in events {
      guard let found = log.range(of: Data(" event=\(event.rawValue) ".utf8)) else { continue }
      let newline = UInt8(ascii: "\n")
      let begin = log[..<found.lowerBound].lastIndex(of: newline).map { $0 + 1 } ?? log.startIndex
      return String(decoding: log[begin...].prefix { $0 != newline }, as: UTF8.self)
    }
    return nil
  }

  /// How often it has restored each partition, by its log.
  var restorations: [Int: Int] {
    let log = (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? ""
    var counts: [Int: Int] = [:]
    for line in log.split(separator: "\n") where line.contains(" event=restore.finished ") {
      guard let field = line.split(separator: " ").first(where: { $0.hasPrefix("partitions=") }) else {
        continue
      }
      for number in field.dropFirst("partitions=".count).split(separator: ",") {
        if let number = Int(number) { counts[number, default: 0] += 1 }
      }
    }
    return counts
  }

  /// Asks it to come to a good end.
  func askToStop() { signal(SIGTERM, mayEnd: true) }

  /// Ends it without warning, also while it is suspended.
  func kill() { signal(SIGKILL, mayEnd: true) }

  /// Takes its time away, as a machine does that hangs.
  func suspend() { signal(SIGSTOP) }
  func resume() { signal(SIGCONT) }

  private func signal(_ signal: Int32, mayEnd: Bool = false) {
    life.whileRunning(mayEnd: mayEnd) { _ = Glibc.kill(pid, signal) }
  }
}
