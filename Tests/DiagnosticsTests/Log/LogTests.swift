import Diagnostics
import Synchronization
import Testing

@Suite struct LogTests {
  private let recorded = RecordedOutput()

  private func log(_ level: LogLevel, _ format: LogFormat = .text) -> Log {
    var clocks = LogClocks()
    clocks.wall = { 1_795_168_800_250 }
    return Log(level: level, format: format, output: recorded.output(isTerminal: false), clocks: clocks)
  }

  @Test func `a line has time, level, message, event and fields`() {
    log(.info).write(.restoreFinished, "restored", ["feeds": 12, "topic": "feeds.items"])
    #expect(
      recorded.writes == [
        "2026-11-20T10:00:00.250Z info    restored event=restore.finished feeds=12 topic=feeds.items\n"
      ]
    )
  }

  @Test func `a line needs no fields`() {
    log(.info).write(.inputRetrying, "transient Kafka error; retrying")
    #expect(
      recorded.text
        == "2026-11-20T10:00:00.250Z warning transient Kafka error; retrying event=input.retrying\n"
    )
  }

  @Test func `a line of JSON is one object`() {
    log(.info, .json).with(["worker": 0]).write(.restoreFinished, "restored", ["topic": "feeds.items"])
    #expect(
      recorded.text
        == #"{"time":"2026-11-20T10:00:00.250Z","level":"info","event":"restore.finished","message":"restored","topic":"feeds.items","worker":0}"#
        + "\n"
    )
  }

  @Test func `a level includes those after it`() {
    let log = log(.warning)
    log.write(.kafkaClientDebug, "1")
    log.write(.groupJoining, "2")
    log.write(.inputRetrying, "3")
    log.write(.inputError, "4")
    #expect(recorded.writes.map { $0.split(separator: " ")[2] } == ["3", "4"])
  }

  @Test func `changing the level affects a log and those derived from it`() {
    let log = log(.warning)
    let other = log.with(["worker": 0])
    other.write(.groupJoining, "1")
    log.setLevel(.info)
    other.write(.groupJoining, "2")
    other.setLevel(.error)
    log.write(.groupJoining, "3")
    #expect(recorded.writes.map { $0.split(separator: " ")[2] } == ["2"])
    #expect(log.level == .error)
  }

  @Test func `messages below the level are not evaluated`() {
    let evaluated = Mutex(0)
    func evaluate() -> String {
      evaluated.withLock { $0 += 1 }
      return "x"
    }
    let log = log(.info)
    log.write(.kafkaClientDebug, evaluate(), ["x": evaluate()])
    #expect(evaluated.withLock { $0 } == 0)
    log.write(.groupJoining, evaluate(), ["x": evaluate()])
    #expect(evaluated.withLock { $0 } == 2)
  }

  @Test func `fields of a log are at the end`() {
    log(.info).with(["worker": 0]).with(["partition": 3]).write(.inputError, "lost", ["code": 7])
    #expect(recorded.text.hasSuffix("lost event=input.error code=7 worker=0 partition=3\n"))
  }

  @Test func `the log goes to standard error, which is not a terminal in tests`() async throws {
    let result = await #expect(
      processExitsWith: .exitCode(0),
      observing: [\.standardErrorContent, \.standardOutputContent]
    ) {
      DiagnosticOutput.standardError.show(status: "50%")
      Log().write(.groupJoining, "hello", ["a": 1])
    }
    let output = try #require(result)
    let error = String(decoding: output.standardErrorContent, as: UTF8.self)
    #expect(error.hasSuffix("Z info    hello event=group.joining a=1\n"))
    #expect(!error.contains("50%"))
    #expect(!String(decoding: output.standardOutputContent, as: UTF8.self).contains("hello"))
  }
}
