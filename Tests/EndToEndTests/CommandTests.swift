import FeedStatus
import FeedStore
import FeedTestSupport
import Foundation
import HTTP
import HTTPTestSupport
import OperatingSystem
import Oracle
import Synchronization
import Testing

@testable import FeedConfiguration
@testable import FeedDemo
@testable import FeedTools

/// Uses of the built command that it rejects, with their messages, and its linkage.
final class CommandTests {
  private let files: TemporaryFolder
  private var folder: URL { files.url }

  init() throws { files = try TemporaryFolder() }

  /// Runs it next to a file with one record, which must not change.
  private func refusal(_ arguments: String...) throws -> String {
    let file = folder.appendingPathComponent("news.ndjson")
    let content = Data((#"{"key":"f","ts":0,"value":{"op":"section.upsert","section":"s"}}"# + "\n").utf8)
    try content.write(to: file)
    let run = try CommandRun(arguments, in: folder)
    #expect(run.exitCode == 2)
    #expect(run.output == "")
    #expect(try Data(contentsOf: file) == content)
    return run.error
  }

  @Test func `libmicrohttpd calls the command's own epoll_wait`() throws {
    // The linker writes its bindings to a file, whose name ends with the number of the process.
    let environment = ["LD_BIND_NOW": "1", "LD_DEBUG": "bindings", "LD_DEBUG_OUTPUT": "bindings"]
    #expect(try CommandRun(["--version"], in: folder, environment: environment).exitCode == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    let name = try #require(names.first { $0.hasPrefix("bindings.") })
    let bindings = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
    let binding = bindings.split(separator: "\n").first { line in
      line.contains("symbol `epoll_wait'") && line.contains("/libmicrohttpd.so")
    }
    #expect(binding?.contains(" to \(try BuiltCommand.url.path) ") == true, "\(binding ?? "none")")
  }

  @Test(arguments: ["--output", "--rejected"])
  func `replay does not overwrite its input`(option: String) throws {
    let message = "\(option) is news.ndjson, which is also read; name another file"
    #expect(try refusal("replay", "news.ndjson", option, "news.ndjson") == "feedstore: \(message)\n")
  }

  @Test(arguments: [
    ("kafka.foo=1", "set the property foo = (not shown)"),
    ("kafka.session.timeout.ms=abc", #"set the property session.timeout.ms = "abc""#),
  ])
  func `a property that librdkafka rejects is refused before anything is announced`(
    setting: String,
    what: String
  ) throws {
    let refusal = try refusal("run", "--embedded", "--set", setting)
    #expect(refusal.contains("feedstore: could not \(what)"))
    #expect(refusal.contains("CONFIGURATION.md"))
  }

  @Test func `an invalid HTTP address is named by its key, and nothing is announced`() throws {
    let refusal = try refusal(
      "run",
      "--embedded",
      "--set",
      "http.enabled=true",
      "--set",
      "http.address=localhost"
    )
    #expect(refusal.contains("feedstore: http.address: "))
    #expect(!refusal.contains("http.tokenFile"))
  }

  @Test func `demo does not both write its history and play a file`() throws {
    let message =
      "unexpected argument 'news.ndjson' with --write, which writes the synthetic history; leave out one of them"
    let refusal = try refusal("demo", "news.ndjson", "--write", "news.ndjson")
    #expect(refusal == "feedstore: \(message)\n")
  }

  @Test func `the version includes the commit and the loaded librdkafka`() throws {
    let run = try CommandRun(["--version"], in: folder)
    #expect(run.exitCode == 0)
    let text = try #require(
      run.output.wholeMatch(of: /feedstore ([0-9.]+) \(commit [0-9a-z-]+, librdkafka [0-9.]+\)\n/)
    )
    #expect(text.1 == Release.version)
  }

  @Test func `completions and the manual page name every command`() throws {
    let help = try CommandRun(["--help"], in: folder).output
    let commands = help.split(separator: "\n").compactMap {
      $0.wholeMatch(of: /\ {2}([a-z]+(?: [a-z]+)?) {2}.*/)?.1
    }
    #expect(commands.contains("run") && commands.contains("rejects list"))
    for shell in ["bash", "zsh", "fish"] {
      for command in commands {
        let words = command.split(separator: " ").map(String.init)
        let run = try CommandRun(["completions", shell, "--"] + words.dropLast() + [""], in: folder)
        #expect(run.exitCode == 0)
        #expect(run.output.contains(words[words.count - 1]), "\(shell)")
      }
    }
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(contentsOf: root.appending(path: "packaging/feedstore.1"), encoding: .utf8)
    for command in commands { #expect(page.contains("\n.B \(command)\n"), "\(command)") }
    #expect(try refusal("completions", "tcsh").contains("allowed: bash, zsh, fish"))
  }
}

/// The order of hash tables differs between processes, because their seed is random. The output must not depend on it.
struct TableSecretTests {
  @Test(arguments: 1...2 as ClosedRange<UInt64>)
  func `every process writes the same bytes for the same records`(seed: UInt64) throws {
    let files = try TemporaryFolder()
    let folder = files.url
    let options = seed.isMultiple(of: 2) ? .orderedSections : GeneratorOptions()
    var generator = RecordGenerator(seed: seed, options: options)
    let lines = generator.records(3_000).compactMap(\.replayLine).map { Data($0) + Data("\n".utf8) }
    try lines.reduce(Data(), +).write(to: folder.appendingPathComponent("in"))

    func output() throws -> [Data] {
      let arguments = ["replay", "in", "--output", "out", "--rejected", "rejected"]
      let run = try CommandRun(arguments, in: folder)
      #expect(run.exitCode == 0, "seed \(seed): \(run.error)")
      return try ["out", "rejected"].map { try Data(contentsOf: folder.appendingPathComponent($0)) }
    }
    let first = try output()
    #expect(first.allSatisfy { !$0.isEmpty })
    for _ in 0..<4 { #expect(try output() == first, "seed \(seed)") }
  }
}

struct DemoTests {
  @Test func `at the end of the demo, the replicas equal the store`() async throws {
    let lines = Mutex<[String]>([])
    let demo = Demo(FeedStoreConfiguration(), speed: 1_000_000, stop: StopRequest(), log: Ground.quiet) {
      line in
      lines.withLock { $0.append(line) }
    }
    let report = try await demo.run()
    #expect(report.isSame, "\(report.text)")
    #expect(report.comparison.rows.count == 5)
    #expect(report.daemon.counters.records == DemoHistory.playedCount)
    #expect(lines.withLock { lines in lines.contains { $0.contains("rejected") } })
    #expect(report.text.contains("The follower's replicas are the store's feeds"))
  }

  @Test func `the demo asks for the token that is set`() async throws {
    var configuration = FeedStoreConfiguration()
    configuration.http.isEnabled = true
    configuration.http.server.port = 0
    configuration.http.token = "0123456789abcdef"
    let statuses = Mutex<[Int]>([])
    let demo = Demo(configuration, speed: 1_000_000, stop: StopRequest(), log: Ground.quiet) { line in
      guard let port = line.firstMatch(of: /127\.0\.0\.1:([0-9]+)\/#/).flatMap({ Int($0.1) }) else { return }
      let client = try? HTTPTestClient(port: port)
      let status = try? client?.ask("GET /v1/feeds").status
      statuses.withLock { $0.append(status ?? 0) }
    }
    _ = try await demo.run()
    #expect(statuses.withLock { $0 } == [401])
  }
}
