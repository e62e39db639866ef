import FeedConfiguration
import FeedStore
import FeedTestSupport
import Foundation
import Glibc
import Kafka
import ObservationSupport
import Oracle
import ProcessSupport
import Testing

/// The built command's reactions to its standard output: when it cannot be written, when its reader has gone, and on a
/// terminal.
final class CommandOutputTests {
  private let folder = try! TemporaryFolder()

  private static let section = #"{"key":"f","ts":0,"value":{"op":"section.upsert","section":"s"}}"#
  private static let full = "feedstore: cannot write standard output: No space left on device\n"

  @Test(arguments: [
    ["--help"], ["--version"], ["help", "follow"], ["run", "--help"], ["rejects", "--help"], ["config"],
    ["config", "--json"], ["completions", "bash"], ["completions", "zsh"],
    ["completions", "fish"],
    ["demo", "--write", "-"], ["replay", "in.ndjson"], ["replay", "in.ndjson", "--output", "/dev/stdout"],
    ["verify", "in.ndjson"],
  ])
  func `a standard output that cannot be written is an error, and a closed one is none`(
    arguments: [String]
  ) throws {
    _ = try folder.file("in.ndjson", "\(Self.section)\n".utf8)
    let run = try CommandRun(arguments, in: folder.url, redirection: ">/dev/full")
    #expect(run.exitCode == 1)
    #expect(run.error.hasSuffix(Self.full), "\(run.error)")
    let closed = try CommandRun(arguments, in: folder.url, redirection: ">&-")
    #expect(closed.exitCode == 1 && closed.error.hasSuffix("standard output: Bad file descriptor\n"))
    // Even for a pipe without a reader, the exit code of `verify` shows whether the file is right.
    let (output, error) = (Pipe(), Pipe())
    try output.fileHandleForReading.close()
    let process = try ChildProcess(
      try BuiltCommand.url.path,
      arguments,
      in: folder.url.path,
      output: .pipe(output),
      error: .pipe(error)
    )
    let text = String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(process.waitForEnd() == .exited(arguments[0] == "verify" ? 1 : 0), "\(text)")
    #expect(arguments[0] == "verify" || text.isEmpty, "\(text)")
  }

  @Test func `commands on a cluster do not ignore that standard output cannot be written`() async throws {
    let ground = try await Self.ground()
    defer { ground.cluster.stop() }
    let settings = [
      "--set", "kafka.bootstrap.servers=\(ground.cluster.bootstrapServers)", "--set", "log.level=error",
    ]
    for arguments in [
      ["follow", "--snapshot"], ["follow"], ["inspect", "news"], ["topics"], ["rejects", "list"],
      ["rejects", "show", "0/0"], ["run"],
    ] {
      let settings = arguments == ["run"] ? ["--embedded"] : settings
      let run = try CommandRun(arguments + settings, in: folder.url, redirection: ">/dev/full")
      #expect(run.exitCode == 1 && run.error.hasSuffix(Self.full), "\(arguments): \(run.error)")
    }
  }

  @Test func `follow ends in order when its terminal is closed`() async throws {
    let ground = try await Self.ground()
    defer { ground.cluster.stop() }
    for signal in [SIGHUP, SIGTERM] {
      let output = Pipe()
      let follow = try ChildProcess(
        try BuiltCommand.url.path,
        ["follow", "--set", "kafka.bootstrap.servers=\(ground.cluster.bootstrapServers)"],
        output: .pipe(output)
      )
      #expect(try output.fileHandleForReading.read(upToCount: 1)?.count == 1)
      follow.signal(signal)
      #expect(follow.waitForEnd() == .exited(0))
    }
  }

  @Test(arguments: [
    (["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": ""], true),
    (["TERM": "xterm", "NO_COLOR": "0"], false),
    (["TERM": "dumb"], false), ([:], false),
  ])
  func `a terminal gets readable lines, in colour if it wants them`(
    environment: [String: String],
    isColoured: Bool
  ) async throws {
    let ground = try await Self.ground()
    defer { ground.cluster.stop() }
    let terminal = try Terminal()
    let follow = try ChildProcess(
      try BuiltCommand.url.path,
      ["follow", "--set", "kafka.bootstrap.servers=\(ground.cluster.bootstrapServers)"],
      environment: Self.ambient.merging(environment) { $1 },
      output: .file(terminal.inner)
    )
    let line = try terminal.line()
    #expect(line.contains("present"), "\(line)")
    #expect(line.contains("\u{1B}") == isColoured, "\(line)")
    follow.signal(SIGTERM)
    follow.waitForEnd()
  }

  @Test func `a terminal that cannot move its cursor is refused by --screen`() throws {
    let (terminal, error) = (try Terminal(), Pipe())
    let follow = try ChildProcess(
      try BuiltCommand.url.path,
      ["follow", "news", "--screen", "--set", "kafka.bootstrap.servers=127.0.0.1:1"],
      environment: Self.ambient.merging(["TERM": "dumb"]) { $1 },
      output: .file(terminal.inner),
      error: .pipe(error)
    )
    let text = String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(follow.waitForEnd() == .exited(2))
    #expect(text.contains("--screen needs a terminal that can move its cursor, and TERM is dumb or not set"))
  }

  /// The environment without the variables that describe a terminal.
  private static var ambient: [String: String] {
    ProcessInfo.processInfo.environment.filter { !["TERM", "NO_COLOR"].contains($0.key) }
  }

  /// A feed, and a rejected record.
  private static func ground() async throws -> Ground {
    var ground = try Ground()
    ground.configuration.store.coalescing.maxRecords = 1
    try ground.produce(
      [TopicRecord("news", #"{"op":"section.upsert","section":"s"}"#), TopicRecord("news", "no JSON")],
      to: "feeds.items"
    )
    _ = try await ground.runDaemon(applying: 2)
    return ground
  }
}

/// A pseudo-terminal.
private final class Terminal {
  private let outer: FileHandle
  /// The command's end.
  let inner: FileHandle

  init() throws {
    let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    var (locked, number): (Int32, Int32) = (0, 0)
    // TIOCSPTLCK and TIOCGPTN, which Swift does not import.
    try #require(ioctl(descriptor, 0x4004_5431, &locked) == 0 && ioctl(descriptor, 0x8004_5430, &number) == 0)
    outer = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    let other = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    try #require(other >= 0)
    inner = FileHandle(fileDescriptor: other, closeOnDealloc: true)
  }

  /// The first line of the command. From here on only the command keeps its end open: if it ends before, so does the
  /// reading.
  func line() throws -> String {
    try inner.close()
    var line = Data()
    while let byte = try outer.read(upToCount: 1), !byte.isEmpty, byte != Data([0x0A]) { line += byte }
    return String(decoding: line, as: UTF8.self)
  }
}
