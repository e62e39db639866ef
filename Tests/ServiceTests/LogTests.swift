import Service
import Synchronization
import Testing

@Suite struct LogTests {
  private let recorded = RecordedOutput()

  private func log(_ level: LogLevel) -> Log {
    Log(level: level, output: recorded.output(isTerminal: false), now: { 1_795_168_800_250 })
  }

  @Test func aLineHasTimeLevelMessageAndFields() {
    log(.info).info("published", ["feeds": 12, "topic": "feeds.items"])
    #expect(recorded.writes == ["2026-11-20T10:00:00.250Z info    published feeds=12 topic=feeds.items\n"])
  }

  @Test func aLineNeedsNoFields() {
    log(.info).warning("slow")
    #expect(recorded.text == "2026-11-20T10:00:00.250Z warning slow\n")
  }

  @Test func aLevelIncludesThoseAfterIt() {
    let log = log(.warning)
    log.debug("1")
    log.info("2")
    log.warning("3")
    log.error("4")
    log.log(.info, "5")
    log.log(.error, "6")
    #expect(recorded.writes.map { $0.dropLast().last } == ["3", "4", "6"])
  }

  @Test func whatIsOffIsNotEvaluated() {
    let evaluated = Mutex(0)
    func evaluate() -> String {
      evaluated.withLock { $0 += 1 }
      return "x"
    }
    let log = log(.info)
    log.debug(evaluate(), ["x": evaluate()])
    #expect(evaluated.withLock { $0 } == 0)
    log.info(evaluate(), ["x": evaluate()])
    #expect(evaluated.withLock { $0 } == 2)
  }

  @Test func `a level that changes counts for every log of a family`() {
    let log = log(.error)
    let child = log.with(["worker": 0])
    child.info("1")
    log.setLevel(.info)
    child.info("2")
    child.setLevel(.warning)
    log.info("3")
    #expect(recorded.writes.map { $0.contains("2 worker=0") } == [true])
    #expect(log.level == .warning)
  }

  @Test func fieldsOfAlogStandAtTheEnd() {
    log(.info).with(["worker": 0]).with(["partition": 3]).error("lost", ["code": 7])
    #expect(recorded.text.hasSuffix("lost code=7 worker=0 partition=3\n"))
  }

  @Test func whatComesFromOutsideStaysInItsField() {
    log(.info).info(
      "a\nb\u{1B}[2J",
      [
        "empty": "", "space": "a b", "quote": "a\"\\", "line": "a\r\n\u{2028}b", "equals": "a=b",
        "word": "é/1",
      ]
    )
    #expect(
      recorded.text.hasSuffix(
        #" a\nb\u{1b}[2J empty="" space="a b" quote="a\"\\" line="a\r\n\u{2028}b" equals="a=b" word=é/1"#
          + "\n"
      )
    )
    #expect(recorded.text.filter { $0.isNewline }.count == 1)
  }

  @Test func theLogGoesToStandardErrorAndIsNoTerminalThere() async throws {
    let result = await #expect(
      processExitsWith: .exitCode(0),
      observing: [\.standardErrorContent, \.standardOutputContent]
    ) {
      DiagnosticOutput.standardError.show(status: "50%")
      Log().info("hello", ["a": 1])
    }
    let output = try #require(result)
    #expect(String(decoding: output.standardErrorContent, as: UTF8.self).hasSuffix("Z info    hello a=1\n"))
    #expect(!String(decoding: output.standardErrorContent, as: UTF8.self).contains("50%"))
    #expect(!String(decoding: output.standardOutputContent, as: UTF8.self).contains("hello"))
  }
}
