import Service
import Synchronization
import Testing

@testable import FeedPipeline

struct MissingTopicPatienceTests {
  @Test func `it lasts for ten seconds from the first answer, of which the log tells once`() {
    let lines = Mutex<[String]>([])
    let output = DiagnosticOutput(isTerminal: false) { line in lines.withLock { $0.append(line) } }
    let log = Log(level: .warning, output: output)
    var patience = MissingTopicPatience()
    let answers = [5_000, 14_999, 15_000].map { patience.lasts(for: ["a", "b"], at: $0, log) }
    #expect(answers == [true, true, false])
    let told = lines.withLock { $0 }
    #expect(told.count == 1)
    #expect(told.first?.contains("event=startup.waiting-for-topics missing=a,b") == true)
  }
}
