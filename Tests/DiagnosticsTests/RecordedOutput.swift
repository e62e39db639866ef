import Diagnostics
import Synchronization

/// A diagnostic output that records what is written.
final class RecordedOutput: Sendable {
  private let written = Mutex<[String]>([])

  /// The calls, in order.
  var writes: [String] { written.withLock { $0 } }
  var text: String { writes.joined() }

  func output(isTerminal: Bool) -> DiagnosticOutput {
    DiagnosticOutput(isTerminal: isTerminal) { text in self.written.withLock { $0.append(text) } }
  }
}
