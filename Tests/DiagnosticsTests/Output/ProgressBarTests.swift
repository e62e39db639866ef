import Testing

@testable import Diagnostics

@Suite struct ProgressBarTests {
  private let recorded = RecordedOutput()
  private let second: Int64 = 1_000_000_000

  @Test func `the line shows progress and rate`() {
    let bar = ProgressBar("reading", total: 100_000_000, now: 5, output: recorded.output(isTerminal: true))
    #expect(
      bar.text(done: 25_000_000, now: 5 + 2 * second)
        == "reading [=====>              ]  25%  25.0 MB of 100.0 MB  12.5 MB/s  0:06 left"
    )
    #expect(
      bar.text(done: 100_000_000, now: 5 + 4 * second)
        == "reading [====================] 100%  100.0 MB of 100.0 MB  25.0 MB/s  0:00 left"
    )
  }

  @Test func `without a rate there is no remaining time`() {
    let bar = ProgressBar("reading", total: 100, now: 0, output: recorded.output(isTerminal: true))
    #expect(bar.text(done: 0, now: 0) == "reading [>                   ]   0%  0 B of 100 B  0 B/s")
  }

  @Test func `without a total there is no bar`() {
    let bar = ProgressBar("reading", total: nil, now: 0, output: recorded.output(isTerminal: true))
    #expect(bar.text(done: 3000, now: 2 * second) == "reading  3.0 kB  1.5 kB/s")
  }

  @Test func `more than the total counts as all of it`() {
    let bar = ProgressBar("reading", total: 10, now: 0, output: recorded.output(isTerminal: true))
    #expect(bar.text(done: 20, now: second).contains("100%"))
    let empty = ProgressBar("reading", total: 0, now: 0, output: recorded.output(isTerminal: true))
    #expect(empty.text(done: 0, now: second).contains("100%"))
  }

  @Test func `the bar is drawn at most ten times a second`() {
    var bar = ProgressBar("reading", total: 1000, now: 0, output: recorded.output(isTerminal: true))
    for millisecond in 1...1000 { bar.update(Int64(millisecond), now: Int64(millisecond) * 1_000_000) }
    #expect(recorded.writes.count == 10)
    bar.finish()
  }

  @Test func `the bar erases itself`() {
    var bar = ProgressBar("reading", total: 1000, now: 0, output: recorded.output(isTerminal: true))
    bar.update(500, now: second)
    bar.finish()
    #expect(recorded.writes.count == 2)
    #expect(recorded.writes.first?.hasPrefix("\r\u{1B}[Kreading [") == true)
    #expect(recorded.writes.last == "\r\u{1B}[K")
  }

  @Test func `without a terminal nothing is written`() {
    var bar = ProgressBar("reading", total: 1000, now: 0, output: recorded.output(isTerminal: false))
    bar.update(500, now: second)
    bar.finish()
    #expect(recorded.writes.isEmpty)
  }

  @Test func `a log line is above the bar`() {
    let output = recorded.output(isTerminal: true)
    output.show(status: "50%")
    output.write(line: "hello")
    output.show(status: "50%")
    output.show(status: "")
    output.write(line: "bye")
    #expect(recorded.writes == ["\r\u{1B}[K50%", "\r\u{1B}[Khello\n50%", "\r\u{1B}[K", "bye\n"])
  }
}
