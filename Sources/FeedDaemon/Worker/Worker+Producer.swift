import FeedKafka
import FeedStore
import Kafka
import Service

/// Keeps a producer that Kafka knows.
extension Worker {
  private static let longestPauseMilliseconds: Int64 = 100
  private static let closeMilliseconds: Int32 = 1_000

  /// How long to wait before the next step, in milliseconds.
  var producerPause: Int32 {
    let left = producerPauseEnd - clock.milliseconds()
    return Int32(max(0, min(left, Self.longestPauseMilliseconds)))
  }

  /// Goes one step on towards a producer that transactions can be begun with. The consumer must be polled
  /// between two.
  ///
  /// Registering it ends what an earlier producer of the same id left open, so nothing is restored before.
  ///
  /// - Throws: ``DaemonError``, when going on needs somebody.
  func prepareProducer(_ store: isolated FeedStore) throws(DaemonError) {
    guard clock.milliseconds() >= producerPauseEnd else { return }
    do throws(KafkaError) {
      try makeProducerCall()
      _ = machine.succeed()
    } catch {
      lastFailure = error
      let effect = machine.fail(error)
      switch effect {
      case .retry(let milliseconds):
        producerPauseEnd = clock.milliseconds() + Int64(milliseconds)
        log.write(
          .transactionWaitingForCoordinator,
          "waiting for the transaction coordinator",
          ["error": error]
        )
      case .lost, .stop, .proceed, .committed, .withdrawn:
        log.write(.transactionProducerRefused, "could not register the producer", ["error": error])
        try handle(effect, store)
      }
    }
  }

  /// Makes the call of the next step, which is one towards a producer.
  func makeProducerCall() throws(KafkaError) {
    switch machine.step {
    case .replace:
      try replaceProducer()
    case .register:
      try producer.initTransactions(timeoutMilliseconds: Self.callMilliseconds)
    case .nothing, .begin, .write, .addOffsets, .commit, .abort:
      preconditionFailure("\(machine.step) needs no new producer")
    }
  }

  private func replaceProducer() throws(KafkaError) {
    let reason = ReplacementReason(machine.state, lossCause)
    do throws(KafkaError) {
      try producer.close(timeoutMilliseconds: Self.closeMilliseconds)
    } catch {
      log.write(.transactionProducerAbandoned, "the producer did not close in time", ["error": error])
    }
    let slowInARow = slowTransactions.inARow
    producer = try environment.clients.makeProducer(
      settings.transactionalProducer(identity, slowInARow: slowInARow, batchLimit),
      log: log
    )
    producerMilliseconds = settings.transactionMilliseconds(slowInARow: slowInARow)
    status.update {
      $0.replacements[reason, default: 0] += 1
      $0.clients[.producer]?.replace()
    }
    reportStatistics()
  }

  /// Has both clients tell what they count.
  func reportStatistics() {
    consumer.onStatistics = { [status] in status.told(.consumer, $0) }
    producer.onStatistics = { [status] in status.told(.producer, $0) }
  }
}
