import Kafka
import Testing

@testable import FeedDaemon

@Suite struct DaemonStatusTests {
  private static let inputs = [
    TopicPartition(topic: "feeds.items", partition: 3), TopicPartition(topic: "feeds.sections", partition: 3),
  ]

  @Test func `a worker goes from its share to what is restored, and back`() {
    let status = DaemonStatus(workers: 2)
    func phases() -> [WorkerPhase] { status.workers.map(\.figures.phase) }
    #expect(phases() == [.starting, .starting])
    status.assigned(Self.inputs, to: 0)
    status.assigned([], to: 1)
    #expect(phases() == [.restoring, .running])
    #expect(status.figures.partitions == [3])
    status.running(0, except: [3])
    #expect(phases() == [.running, .running])
    #expect(status.figures.stopped == [3])
    status.restoring(0)
    #expect(phases() == [.restoring, .running])
    #expect(status.figures.stopped == [])
    status.released(0)
    #expect(phases() == [.joining, .running])
    #expect(status.figures.partitions == [])
    #expect(status.figures.rebalances == [.assigned: 2])
  }

  @Test func `lag is kept by topic and partition, and added up by number`() {
    let status = DaemonStatus()
    status.assigned(Self.inputs, to: 0)
    status.lags([Self.inputs[0]: 5, Self.inputs[1]: 2], of: 0)
    #expect(status.figures.lagByNumber == [3: 7])
    status.released(0)
    #expect(status.figures.inputLag.isEmpty)
  }

  @Test func `a commit ends a row of transactions that were withdrawn`() {
    let worker = WorkerStatus(number: 0)
    worker.ended(.withdrawn, withdrawnInARow: 1)
    worker.ended(.withdrawn, withdrawnInARow: 2)
    #expect(worker.figures.withdrawnInARow == 2)
    #expect(worker.figures.lastCommit == 0)
    worker.ended(.committed)
    #expect(worker.figures.withdrawnInARow == 0)
    #expect(worker.figures.lastCommit > 0)
    #expect(worker.figures.transactions == [.withdrawn: 2, .committed: 1])
  }
}
