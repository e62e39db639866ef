import FeedTestSupport
import Foundation
import Glibc
import Kafka
import ObservationSupport
import Oracle
import ProcessSupport
import Testing

/// The built command ends when a signal interrupts it, even while it waits, and reports its progress.
final class InterruptionTests {
  private let folder = try! TemporaryFolder()

  private static let line = #"{"key":"f","ts":0,"value":{"op":"section.upsert","section":"s"}}"# + "\n"
  /// More than a pipe's capacity: it is written once the command reads.
  private static let lines = Data(String(repeating: line, count: 1_100).utf8)
  private static let unreachable = ["--set", "kafka.bootstrap.servers=127.0.0.1:1"]
  private static let signals = [SIGINT, SIGTERM, SIGHUP]

  /// A command that a test interrupts.
  private struct Running {
    let process: ChildProcess
    /// The command's id, in this process's namespace.
    let id: Int32
    let input: Pipe
    let error: Pipe

    /// - Parameter isFirst: whether it is the first process of a namespace, as in a container: the system ignores signals that it
    ///   does not handle.
    init(
      _ arguments: [String],
      in folder: TemporaryFolder,
      input bytes: Data? = nil,
      output: ChildProcess.Stream = .null,
      isFirst: Bool = false
    ) throws {
      (input, error) = (Pipe(), Pipe())
      let command = [try BuiltCommand.url.path] + arguments
      let all = isFirst ? ["/usr/bin/unshare", "--pid", "--fork", "--kill-child"] + command : command
      process = try ChildProcess(
        all[0],
        Array(all.dropFirst()),
        in: folder.url.path,
        input: .pipe(input),
        output: output,
        error: .pipe(error)
      )
      if let bytes { try input.fileHandleForWriting.write(contentsOf: bytes) }
      guard isFirst else {
        id = process.id
        return
      }
      let children = try String(
        contentsOfFile: "/proc/\(process.id)/task/\(process.id)/children",
        encoding: .utf8
      )
      id = try #require(Int32(children.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// Waits for a text on standard error.
    func wait(for text: String) throws {
      var read = ""
      while !read.contains(text) {
        let bytes = error.fileHandleForReading.availableData
        try #require(!bytes.isEmpty, "it ended: \(read)")
        read += String(decoding: bytes, as: UTF8.self)
      }
    }

    /// Sends a signal, and waits for the end.
    func interrupt(_ signal: Int32) throws -> String {
      kill(id, signal)
      let text = String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      #expect(process.waitForEnd() == .exited(1), "\(text)")
      return text
    }
  }

  /// Whether the command did not notice the signal in time, on a busy machine, and was ended.
  private static func isForced(_ text: String) -> Bool {
    text.hasSuffix("feedstore: interrupted\n")
      || text.contains("feedstore: interrupted; records until then: ")
  }

  private static let mayUnshare: Bool = {
    let process = try? ChildProcess("/usr/bin/unshare", ["--pid", "--fork", "/bin/true"])
    return process?.waitForEnd() == .exited(0)
  }()

  private static let readers = [
    ["replay", "-", "--output", "/dev/null"], ["verify", "-"], ["rejects", "publish", "0/1", "--value", "-"],
  ]

  @Test(arguments: readers, signals)
  func `a command that waits for its input ends, and says so`(_ arguments: [String], _ signal: Int32) throws {
    let text = try Running(arguments, in: folder, input: Self.lines).interrupt(signal)
    #expect(text.contains("interrupted"), "\(text)")
    if arguments[0] == "verify" { #expect(Self.isForced(text) || text.contains("faults "), "\(text)") }
  }

  @Test(.enabled(if: mayUnshare, "unshare --pid is not allowed"), arguments: readers, [SIGINT, SIGTERM])
  func `the first process of a container ends too`(_ arguments: [String], _ signal: Int32) throws {
    let text = try Running(arguments, in: folder, input: Self.lines, isFirst: true).interrupt(signal)
    #expect(text.contains("interrupted"), "\(text)")
  }

  @Test func `a replay says where it was interrupted, and leaves a file as it was`() throws {
    _ = try folder.file("out", "before".utf8)
    let lines = (0..<2_000).map { _ in
      let data = (0..<8).map { _ in String(UInt64.random(in: 0...(.max)), radix: 36) }.joined()
      return Self.line.replacing("\"section\":", with: "\"data\":\"\(data)\",\"section\":")
    }.joined()
    _ = try folder.file("lines", lines.utf8)
    let gzip = try CommandRun(
      ["-c", "gzip < lines > lines.gz"],
      of: URL(filePath: "/bin/sh"),
      in: folder.url
    )
    #expect(gzip.exitCode == 0)
    let packed = try Data(contentsOf: folder.url.appending(path: "lines.gz")).dropLast(100)
    #expect(packed.count > 1 << 16)
    for input in [Data(lines.utf8), packed] {
      let text = try Running(["replay", "-", "--output", "out"], in: folder, input: input).interrupt(SIGTERM)
      #expect(
        Self.isForced(text)
          || text.contains("interrupted before the end of the input, after line ")
            && text.hasSuffix(" of standard input; out is left unchanged\n"),
        "\(text)"
      )
      #expect(try folder.read("out") == "before")
    }
  }

  @Test(arguments: signals) func `a pipe without a writer is waited for`(_ signal: Int32) throws {
    #expect(mkfifo(folder.path("pipe"), 0o600) == 0)
    let replay = try Running(["replay", "-", "pipe", "--output", "/dev/null"], in: folder, input: Self.lines)
    try replay.input.fileHandleForWriting.close()
    // It opens the pipe as soon as it has read the first file.
    let pipe = open(folder.path("pipe"), O_WRONLY)
    #expect(pipe >= 0)
    defer { close(pipe) }
    let text = try replay.interrupt(signal)
    #expect(Self.isForced(text) || text.hasSuffix("after line 0 of pipe\n"), "\(text)")
  }

  @Test func `publish says what the brokers have confirmed`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    let settings = ["--set", "kafka.bootstrap.servers=\(ground.cluster.bootstrapServers)"]
    for signal in Self.signals {
      let publish = try Running(["publish", "-"] + settings, in: folder, input: Self.lines)
      let text = try publish.interrupt(signal)
      #expect(
        Self.isForced(text)
          || text.contains("interrupted before the end of the input; confirmed records: "),
        "\(text)"
      )
    }
  }

  @Test(arguments: [
    ["topics"], ["topics", "--create"], ["config", "--check"], ["verify", "--topic"], ["rejects", "list"],
    ["publish", "lines"],
    [
      "ingest", "--dry-run", "--set",
      "ingest.sources=[{topic: \"t\", feed: \"f\", section: \"s\", item: \"{key}\"}]",
    ],
  ])
  func `a command that waits for brokers ends`(_ arguments: [String]) throws {
    _ = try folder.file("lines", Self.lines)
    for signal in [SIGINT, SIGTERM] {
      let command = try Running(arguments + Self.unreachable, in: folder)
      try command.wait(for: "Connection refused")
      let text = try command.interrupt(signal)
      #expect(text.contains("interrupted"), "\(text)")
      // Whether `publish` counts depends on whether it has begun to publish.
      #expect(!text.contains(/(until then|confirmed records): [1-9]/), "\(text)")
    }
  }

  @Test(arguments: signals) func `a command whose output is not read ends`(_ signal: Int32) throws {
    // Each feed has a reload, and all are more than a pipe holds.
    let lines = (0..<1_000).map { Self.line.replacing("\"f\"", with: "\"f\($0)\"") }.joined()
    _ = try folder.file("lines", lines.utf8)
    let output = Pipe()
    let replay = try Running(["replay", "lines"], in: folder, output: .pipe(output))
    #expect(try output.fileHandleForReading.read(upToCount: 1)?.count == 1)
    let text = try replay.interrupt(signal)
    #expect(text.hasSuffix("interrupted; records until then: 1000\n"), "\(text)")
  }

  @Test func `an address space that is limited is named at the start`() throws {
    let command = "ulimit -v 4000000 && exec \"$0\" \"$@\""
    let run = try CommandRun(
      ["-c", command, try BuiltCommand.url.path, "publish", "none"] + Self.unreachable,
      of: URL(filePath: "/bin/sh"),
      in: folder.url
    )
    #expect(run.error.contains("event=startup.address-space-limited bytes=4096000000"), "\(run.error)")
  }

  @Test func `ingest reads its configuration again, and names what needs a restart`() async throws {
    let ground = try Ground()
    defer { ground.cluster.stop() }
    func configure(_ level: String, _ group: String) throws {
      let source = "{ topic: \"rows\", feed: \"f\", section: \"s\", item: \"{key}\" }"
      let text = "{ log: { level: \"\(level)\" }, ingest: { group: \"\(group)\", sources: [\(source)] } }"
      _ = try folder.file("c.json5", text.utf8)
    }
    try configure("info", "a")
    let settings = [
      "--config", "c.json5", "--set", "kafka.bootstrap.servers=\(ground.cluster.bootstrapServers)",
    ]
    let ingest = try Running(["ingest"] + settings, in: folder)
    try ingest.wait(for: "event=group.joining")
    try configure("debug", "b")
    kill(ingest.id, SIGHUP)
    try ingest.wait(for: "event=config.restart-required keys=ingest.group")
    kill(ingest.id, SIGTERM)
    _ = try ingest.error.fileHandleForReading.readToEnd()
    #expect(ingest.process.waitForEnd() == .exited(0))
  }
}
