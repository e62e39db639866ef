import CSpawn
public import Foundation
import Glibc
import Synchronization

/// A child process in a process group of its own, with default signal handlers and no open files but its standard streams.
///
/// The tests do not use Foundation's `Process`: in Swift 6.3 it copies a whole `dirent` from where `readdir` has a shorter one.
/// It crashes if that is at the end of a page.
public final class ChildProcess: Sendable {
  /// How a process ended.
  public enum End: Sendable, Equatable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  /// Where a standard stream leads.
  public enum Stream {
    /// `/dev/null`.
    case null
    /// The stream of this process.
    case inherited
    case file(FileHandle)
    /// The process gets its end of the pipe, which is closed here.
    case pipe(Pipe)
  }

  public struct NotStarted: Error, CustomStringConvertible {
    public let description: String
  }

  public let id: Int32
  private let ended = Mutex<End?>(nil)

  /// Starts the process.
  ///
  /// - Parameters:
  ///   - executable: a path.
  ///   - environment: all variables of the process.
  ///   - folder: the working directory; nil for this process's.
  /// - Throws: ``NotStarted`` with the system's reason.
  public init(
    _ executable: String,
    _ arguments: [String],
    environment: [String: String] = ProcessInfo.processInfo.environment,
    in folder: String? = nil,
    input: Stream = .null,
    output: Stream = .null,
    error: Stream = .null
  ) throws {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    for (target, stream) in [(STDIN_FILENO, input), (STDOUT_FILENO, output), (STDERR_FILENO, error)] {
      let isInput = target == STDIN_FILENO
      switch stream {
      case .null:
        posix_spawn_file_actions_addopen(&actions, target, "/dev/null", isInput ? O_RDONLY : O_WRONLY, 0)
      case .inherited: break
      case .file(let file): posix_spawn_file_actions_adddup2(&actions, file.fileDescriptor, target)
      case .pipe(let pipe):
        let end = isInput ? pipe.fileHandleForReading : pipe.fileHandleForWriting
        posix_spawn_file_actions_adddup2(&actions, end.fileDescriptor, target)
      }
    }
    feedstore_spawn_close_from(&actions, STDERR_FILENO + 1)
    if let folder { feedstore_spawn_in(&actions, folder) }
    var (all, none) = (sigset_t(), sigset_t())
    sigfillset(&all)
    sigemptyset(&none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(
      &attributes,
      Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP)
    )
    var id: pid_t = 0
    let code = Self.withPointers([executable] + arguments) { arguments in
      Self.withPointers(environment.map { "\($0)=\($1)" }) { environment in
        posix_spawn(&id, executable, &actions, &attributes, arguments, environment)
      }
    }
    guard code == 0 else {
      throw NotStarted(description: "could not start \(executable): \(String(cString: strerror(code)))")
    }
    self.id = id
    for (stream, isInput) in [(input, true), (output, false), (error, false)] {
      guard case .pipe(let pipe) = stream else { continue }
      try? (isInput ? pipe.fileHandleForReading : pipe.fileHandleForWriting).close()
    }
  }

  /// How it ended; nil while it runs.
  public var end: End? {
    ended.withLock { end in
      if end == nil { end = reap() }
      return end
    }
  }

  /// Waits for its end.
  @discardableResult public func waitForEnd() -> End {
    while true {
      // Leaves the process as it is, so that only `end` takes its id away.
      var info = siginfo_t()
      _ = waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT)
      if let end { return end }
    }
  }

  /// Waits for its end on a thread of its own.
  public func onEnd(_ body: @escaping @Sendable (End) -> Void) {
    Thread.detachNewThread { body(self.waitForEnd()) }
  }

  /// Sends a signal, unless the process has ended.
  public func signal(_ number: Int32) {
    ended.withLock { end in
      if end == nil { end = reap() }
      if end == nil { kill(id, number) }
    }
  }

  private func reap() -> End? {
    var status: Int32 = 0
    guard waitpid(id, &status, WNOHANG) == id else { return nil }
    let signal = status & 0x7F
    return signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
  }

  /// The texts as a list of C strings that ends with a null pointer.
  private static func withPointers(
    _ texts: [String],
    _ body: ([UnsafeMutablePointer<CChar>?]) -> Int32
  ) -> Int32 {
    let pointers = texts.map { strdup($0) }
    defer { for pointer in pointers { free(pointer) } }
    return body(pointers + [nil])
  }
}

extension ChildProcess.End {
  /// The exit code, or the number of the signal.
  public var status: Int32 {
    switch self {
    case .exited(let code): code
    case .killed(let signal): signal
    }
  }
}
