import Diagnostics
import FeedConfiguration
import FeedKafka
import FeedTestSupport
import FeedTransactions
import Foundation
import Oracle
import Synchronization
import Testing

@testable import FeedStatus

struct ConfigurationUpdaterTests {
  private let folder: TemporaryFolder
  private let lines = Lines()

  /// The lines of the log, without the times.
  private final class Lines: Sendable {
    let all = Mutex<[String]>([])
  }

  init() throws { folder = try TemporaryFolder() }

  private func write(_ text: String) throws { _ = try folder.file("feedstore.json5", text.utf8) }

  /// A reload in a process that began with this file content.
  private func reload(_ text: String, assignments: [String] = []) throws -> (ConfigurationUpdater, Log) {
    try write(text)
    let sources = ConfigurationSources(file: folder.path("feedstore.json5"), assignments: assignments)
    let loaded = try sources.load()
    let output = DiagnosticOutput(isTerminal: false) { [lines] line in
      let text = line.split(separator: " ", maxSplits: 1)[1].trimmingCharacters(in: .newlines)
      lines.all.withLock { $0.append(text) }
    }
    let log = Log(level: loaded.configuration.logLevel, output: output)
    return (ConfigurationUpdater(sources, running: loaded, log: log), log)
  }

  private func takeLines() -> [String] {
    lines.all.withLock { lines in
      defer { lines = [] }
      return lines
    }
  }

  @Test func `the log level changes at once, and the log tells`() throws {
    let (reload, log) = try reload("{ log: { level: 'info' } }")
    let worker = log.with(["worker": 0])
    try write("{ log: { level: 'debug' } }")
    reload.run()
    #expect(takeLines() == ["info    configuration reloaded event=config.reloaded changed=log.level"])
    worker.write(.kafkaClientDebug, "heard")
    #expect(takeLines() == ["debug   heard event=kafka.client.debug worker=0"])
    try write("{ log: { level: 'error' } }")
    reload.run()
    // Logged before it takes effect.
    #expect(takeLines() == ["info    configuration reloaded event=config.reloaded changed=log.level"])
    worker.write(.inputRetrying, "not heard")
    reload.run()
    #expect(takeLines() == [])
    try write("{}")
    reload.run()
    #expect(takeLines() == ["info    configuration reloaded event=config.reloaded changed=log.level"])
  }

  @Test func `nothing changes where nothing was changed`() throws {
    let (reload, _) = try reload("{ workers: 2 }")
    try write("{ workers: 2, /* as before */ }")
    reload.run()
    #expect(takeLines() == ["info    configuration reloaded event=config.reloaded changed=nothing"])
  }

  @Test func `what needs a restart is named until there was one`() throws {
    let (reload, log) = try reload("{ workers: 2, kafka: { 'client.id': 'a' } }")
    try write("{ log: { level: 'warning' }, workers: 3, kafka: { 'group.id': 'g' } }")
    reload.run()
    let restart =
      "warning restart to apply changed settings event=config.restart-required keys=kafka.client.id,kafka.group.id,workers"
    #expect(
      takeLines() == ["info    configuration reloaded event=config.reloaded changed=log.level", restart]
    )
    reload.run()
    #expect(takeLines() == [restart])
    #expect(log.level == .warning)
    try write("{ log: { level: 'info' }, workers: 2, kafka: { 'client.id': 'a' } }")
    reload.run()
    #expect(takeLines() == ["info    configuration reloaded event=config.reloaded changed=log.level"])
  }

  @Test(arguments: ["{ log: { level: 'debug' }, workers: 0 }", "{ log: { level: 'debug' }", "{ wrkers: 1 }"])
  func `a file with a mistake changes nothing`(text: String) throws {
    let (reload, log) = try reload("{ log: { level: 'info' } }")
    #expect(reload.failure == nil)
    try write(text)
    reload.run()
    let lines = takeLines()
    #expect(lines.count == 1 && log.level == .info)
    #expect(reload.failure?.contains(folder.path("feedstore.json5")) == true)
    #expect(lines.first?.contains(reload.failure?.prefix(40) ?? "-") == true)
    #expect(
      lines.first?.hasPrefix(
        "error   configuration not reloaded; everything stays as it was event=config.reload-failed error=\"\(folder.path("feedstore.json5"))"
      ) == true
    )
    try write("{}")
    reload.run()
    #expect(reload.failure == nil)
  }

  @Test func `a part that fails when it is applied is a failure, and later parts stay as they were`() throws {
    struct Refusal: Error, CustomStringConvertible { let description = "no file is left" }
    let (reload, log) = try reload("{}")
    let isApplied = Mutex(false)
    reload.add(UpdatablePart(keys: []) { _ in (["certificate"], { throw Refusal() }) })
    reload.add(UpdatablePart(keys: []) { _ in (["token"], { isApplied.withLock { $0 = true } }) })
    try write("{ log: { level: 'debug' } }")
    reload.run()
    #expect(reload.failure == "no file is left" && !isApplied.withLock { $0 } && log.level == .info)
    #expect(takeLines().map { $0.contains("event=config.reload-failed") } == [true])
  }

  @Test func `a file that is gone changes nothing`() throws {
    let (reload, _) = try reload("{}")
    try FileManager.default.removeItem(atPath: folder.path("feedstore.json5"))
    reload.run()
    #expect(takeLines().first?.contains("cannot read the configuration: No such file or directory") == true)
  }

  @Test func `--set stays over the file`() throws {
    let (reload, log) = try reload("{}", assignments: ["log.level=warning"])
    try write("{ log: { level: 'debug' } }")
    reload.run()
    #expect(log.level == .warning)
  }

  @Test func `if one part cannot work with the settings, no part changes`() throws {
    struct Refusal: Error, CustomStringConvertible { let description = "no such certificate" }
    let (reload, log) = try reload("{}")
    let isRefusing = Mutex(true)
    let applied = Mutex(0)
    reload.add(
      UpdatablePart(keys: ["topics.items"]) { _ in
        (["certificate"], { applied.withLock { $0 += 1 } })
      }
    )
    reload.add(
      UpdatablePart(keys: ["topics.sections"]) { _ in
        if isRefusing.withLock({ $0 }) { throw Refusal() }
        return nil
      }
    )
    try write("{ log: { level: 'debug' }, topics: { items: 'other' } }")
    reload.run()
    #expect(log.level == .info && applied.withLock { $0 } == 0)
    #expect(takeLines().first?.hasSuffix("error=\"no such certificate\"") == true)
    isRefusing.withLock { $0 = false }
    reload.run()
    #expect(log.level == .debug && applied.withLock { $0 } == 1)
    #expect(
      takeLines() == [
        "info    configuration reloaded event=config.reloaded changed=certificate,log.level,topics.items"
      ]
    )
  }
}
