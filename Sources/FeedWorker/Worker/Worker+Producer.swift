import FeedKafka
import FeedStore
import Kafka
import Service

/// Keeps a producer that Kafka knows.
extension Worker {
  private static let closeMilliseconds: Int32 = 1_000

  /// Makes a call towards a producer that transactions can be begun with, while none is under way.
  func prepareProducer(_ step: TransactionMachine.Step) -> WorkerEvent.Outcome {
    do throws(KafkaError) {
      return try makeProducerCall(step)
    } catch {
      failures.fail(error)
      return .failed(error)
    }
  }

  /// Makes the call of a step that is one towards a producer.
  func makeProducerCall(_ step: TransactionMachine.Step) throws(KafkaError) -> WorkerEvent.Outcome {
    switch step {
    case .replace:
      return .replaced(transactionMilliseconds: try replaceProducer())
    case .register:
      try producer.initTransactions(timeoutMilliseconds: Self.callMilliseconds)
      return .succeeded
    case .nothing, .begin, .write, .addOffsets, .commit, .abort:
      preconditionFailure("\(step) needs no new producer")
    }
  }

  /// - Returns: how long the new producer's transactions may take, in milliseconds.
  private func replaceProducer() throws(KafkaError) -> Int {
    let reason = ReplacementReason(machine.transactions.state, failures.lossCause)
    do throws(KafkaError) {
      try producer.close(timeoutMilliseconds: Self.closeMilliseconds)
    } catch {
      log.write(.transactionProducerAbandoned, "the producer did not close in time", ["error": error])
    }
    let slowInARow = machine.slowTransactions.inARow
    producer = try environment.clients.makeProducer(
      settings.transactionalProducer(identity, slowInARow: slowInARow, failures.batchLimit),
      log: log
    )
    status.update {
      $0.replacements[reason, default: 0] += 1
      $0.clients[.producer]?.replace()
    }
    reportStatistics()
    return settings.transactionMilliseconds(slowInARow: slowInARow)
  }

  /// Has both clients tell what they count.
  func reportStatistics() {
    consumer.onStatistics = { [status] in status.told(.consumer, $0) }
    producer.onStatistics = { [status] in status.told(.producer, $0) }
  }
}
