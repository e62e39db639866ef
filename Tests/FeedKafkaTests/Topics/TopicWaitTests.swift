import Diagnostics
import Kafka
import Synchronization
import Testing

@testable import FeedKafka

struct TopicWaitTests {
  @Test func `the wait starts with the first response without a topic, and is logged every five seconds`() {
    let lines = Mutex<[String]>([])
    let output = DiagnosticOutput(isTerminal: false) { line in lines.withLock { $0.append(line) } }
    let log = Log(level: .warning, output: output)
    var wait = TopicWait(milliseconds: 12_000)
    let times: [Int64] = [5_000, 5_100, 9_999, 10_000, 15_500, 16_999, 17_000]
    #expect(
      times.map { wait.lasts(for: ["a", "b"], at: $0, log) } == [true, true, true, true, true, true, false]
    )
    let told = lines.withLock { $0 }.map {
      $0.split(separator: " ", maxSplits: 2).last.map(String.init) ?? ""
    }
    #expect(
      told
        == [12, 7, 2].map {
          "waiting for topics event=startup.waiting-for-topics missing=a,b remaining=\($0)s\n"
        }
    )
  }

  @Test func `without time it asks once`() {
    var wait = TopicWait(milliseconds: 0)
    #expect(wait.step(at: 7) == .giveUp)
  }

  @Test func `the wait may be unlimited`() {
    var wait = TopicWait(milliseconds: .max)
    #expect(wait.step(at: 7) == .askAndTell(remainingSeconds: (.max - 8) / 1_000 + 1))
    #expect(wait.step(at: 8) == .ask)
    #expect(wait.step(at: .max - 1) == .askAndTell(remainingSeconds: 1))
  }
}
