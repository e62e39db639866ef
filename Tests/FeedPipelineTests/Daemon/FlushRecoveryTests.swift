import Testing

@testable import FeedPipeline
@testable import Kafka

struct FlushRecoveryTests {
  private func error(
    _ kind: KafkaErrorCode = .timedOut,
    isRetriable: Bool = false,
    isFatal: Bool = false,
    requiresAbort: Bool = false
  ) -> KafkaError {
    KafkaError(
      kind: kind,
      message: "could not",
      isRetriable: isRetriable,
      isFatal: isFatal,
      requiresAbort: requiresAbort
    )
  }

  private let stages: [FlushRecovery.Stage] = [.producing, .committing]

  @Test func `fatal errors stop, whatever else they are`() {
    for stage in stages {
      let error = error(.fenced, isRetriable: true, isFatal: true, requiresAbort: true)
      #expect(FlushRecovery().action(for: error, in: stage, hasTime: true) == .stop)
    }
  }

  @Test func `what requires an abort is aborted at any stage`() {
    for stage in stages {
      #expect(FlushRecovery().action(for: error(requiresAbort: true), in: stage, hasTime: true) == .abort)
    }
  }

  @Test func `what may succeed later is tried again while there is time`() {
    for stage in stages {
      #expect(FlushRecovery().action(for: error(isRetriable: true), in: stage, hasTime: true) == .retry)
    }
  }

  @Test func `out of time, a transaction is aborted unless its commit was asked for`() {
    let error = error(isRetriable: true)
    #expect(FlushRecovery().action(for: error, in: .producing, hasTime: false) == .abort)
    #expect(FlushRecovery().action(for: error, in: .committing, hasTime: false) == .stop)
  }

  @Test func `a commit whose outcome is not known is never taken for aborted`() {
    #expect(FlushRecovery().action(for: error(.state), in: .committing, hasTime: true) == .stop)
    #expect(FlushRecovery().action(for: error(.state), in: .producing, hasTime: true) == .abort)
  }

  @Test func `a record that is too large would be so again`() {
    #expect(FlushRecovery().action(for: error(.messageTooLarge), in: .producing, hasTime: true) == .stop)
  }

  @Test func `aborts in a row come to an end, and a commit forgives them`() {
    var recovery = FlushRecovery()
    let error = error(requiresAbort: true)
    for _ in 0..<FlushRecovery.mostAbortedInARow {
      #expect(recovery.action(for: error, in: .producing, hasTime: true) == .abort)
      recovery.aborted()
    }
    #expect(recovery.action(for: error, in: .producing, hasTime: true) == .stop)
    recovery.committed()
    #expect(recovery.action(for: error, in: .producing, hasTime: true) == .abort)
  }

  @Test func `the first abort does not wait, further ones wait longer, up to a second`() {
    var recovery = FlushRecovery()
    var waits: [Int32] = []
    for _ in 0..<FlushRecovery.mostAbortedInARow {
      recovery.aborted()
      waits.append(recovery.waitMilliseconds)
    }
    #expect(waits.first == 0)
    #expect(waits == waits.sorted())
    #expect(waits.last == 1_000)
  }
}
