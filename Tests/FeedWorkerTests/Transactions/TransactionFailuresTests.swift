import FeedKafka
import Settings
import Testing

@testable import FeedTransactions
@testable import Kafka

struct TransactionFailuresTests {
  private static func errors(_ kinds: KafkaErrorCode...) -> DeliveryErrors {
    var errors = DeliveryErrors()
    for kind in kinds { errors.append(KafkaErrors.error(kind)) }
    return errors
  }

  @Test func `the cause is what a call failed with last, until a commit`() {
    var failures = TransactionFailures()
    #expect(failures.cause == "partitions were lost, or there was no time left")
    failures.fail(KafkaErrors.error(.timedOut))
    failures.fail(KafkaErrors.error(.fenced))
    #expect(failures.cause.contains("_FENCED"))
    failures.lose()
    failures.commit()
    #expect(failures.last == nil)
    // The producer is replaced later.
    #expect(failures.lossCause?.kind == .fenced)
  }

  @Test func `batches that are too large make those to come smaller, once a transaction`() {
    var failures = TransactionFailures()
    #expect(failures.take(DeliveryErrors(), batchBytes: 1_000) == nil)
    #expect(failures.take(Self.errors(.timedOut), batchBytes: 1_000) == nil)
    #expect(failures.take(Self.errors(.timedOut, .recordListTooLarge), batchBytes: 1_000) == 100)
    #expect(failures.take(Self.errors(.recordListTooLarge), batchBytes: 1_000) == nil)
    _ = failures.takeUndelivered()
    #expect(failures.take(Self.errors(.recordListTooLarge), batchBytes: 1_000) == 10)
    _ = failures.takeUndelivered()
    #expect(failures.take(Self.errors(.recordListTooLarge), batchBytes: 1_000) == 1)
    _ = failures.takeUndelivered()
    #expect(failures.take(Self.errors(.recordListTooLarge), batchBytes: 1_000) == nil)
    #expect(failures.batchLimit.isLeast)
  }

  @Test func `a batch that is too large is a refused record only if it has one`() {
    var failures = TransactionFailures()
    for bytes in [100, 10, 1] {
      #expect(failures.take(Self.errors(.timedOut, .recordListTooLarge), batchBytes: 1_000) == bytes)
      #expect(failures.refusal == nil)
      // These were created before the limit was lowered.
      #expect(failures.take(Self.errors(.recordListTooLarge), batchBytes: 1_000) == nil)
      #expect(failures.refusal == nil)
      _ = failures.takeUndelivered()
    }
    #expect(failures.take(Self.errors(.timedOut), batchBytes: 1_000) == nil)
    #expect(failures.refusal == nil)
    #expect(failures.take(Self.errors(.recordListTooLarge), batchBytes: 1_000) == nil)
    #expect(failures.refusal?.kind == .recordListTooLarge)
    _ = failures.takeUndelivered()
    #expect(failures.refusal == nil)
  }

  @Test func `a refused record is found among errors of the same transaction that come before and after it`()
  {
    var failures = TransactionFailures()
    _ = failures.take(Self.errors(.timedOut), batchBytes: 1_000)
    #expect(failures.refusal == nil)
    _ = failures.take(Self.errors(.messageTooLarge), batchBytes: 1_000)
    _ = failures.take(Self.errors(.timedOut), batchBytes: 1_000)
    #expect(failures.refusal?.kind == .messageTooLarge)
    #expect(failures.undelivered.count == 3)
    _ = failures.takeUndelivered()
    #expect(failures.refusal == nil)
  }

  @Test func `what was not delivered is handed out once`() {
    var failures = TransactionFailures()
    failures.fail(KafkaErrors.error(.timedOut))
    _ = failures.take(Self.errors(.timedOut, .messageTooLarge), batchBytes: 1_000)
    #expect(failures.undelivered.count == 2)
    let errors = failures.takeUndelivered()
    #expect(errors.map(\.kind) == [.timedOut, .messageTooLarge])
    let rest = failures.takeUndelivered()
    #expect(rest.isEmpty)
    #expect(failures.last == nil)
  }

  // MARK: Slow transactions

  private static func settings() throws -> KafkaSettings {
    try KafkaSettings([ConfigurationPair(name: "bootstrap.servers", value: "host:9092")])
  }

  /// A transaction that takes so long and fails, which is reported twice.
  private static func fail(_ failures: inout TransactionFailures, after milliseconds: Int64) throws {
    failures.begin(at: 1_000)
    failures.end(at: 1_000 + milliseconds, try settings())
    failures.end(at: 1_000_000, try settings())
  }

  @Test func `what fails at once says nothing about its time`() throws {
    var failures = TransactionFailures()
    try Self.fail(&failures, after: 0)
    try Self.fail(&failures, after: 7_499)
    #expect(failures.slowInARow == 0)
  }

  @Test func `what fails at the end of its time counts once, and the next has twice as long`() throws {
    var failures = TransactionFailures()
    try Self.fail(&failures, after: 7_500)
    #expect(failures.slowInARow == 1)
    try Self.fail(&failures, after: 14_999)
    #expect(failures.slowInARow == 1)
    try Self.fail(&failures, after: 20_000)
    #expect(failures.slowInARow == 2)
    let identity = WorkerIdentity(number: 0, count: 1, process: ProcessIdentity(group: "failures"))
    let configuration = failures.producer(of: identity, try Self.settings())
    #expect(configuration["transaction.timeout.ms"] == "40000")
  }

  @Test func `a commit ends the row`() throws {
    var failures = TransactionFailures()
    try Self.fail(&failures, after: 10_000)
    failures.begin(at: 0)
    failures.commit()
    failures.end(at: 100_000, try Self.settings())
    #expect(failures.slowInARow == 0)
  }
}
