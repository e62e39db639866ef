import Kafka
import Testing

@testable import FeedWorker

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

  @Test func `partitions come and go one by one`() {
    let status = DaemonStatus()
    let others = Self.inputs.map { TopicPartition(topic: $0.topic, partition: 4) }
    status.assigned(Self.inputs, to: 0)
    status.running(0, except: [3])
    status.assigned(Self.inputs + others, to: 0)
    #expect(status.figures.restoring == [4])
    #expect(status.figures.stopped == [3], "what stays is as it was")
    #expect(status.workers[0].figures.phase == .restoring)
    status.restored([4], by: 0)
    #expect(status.figures.restoring == [])
    status.running(0, except: [3])
    status.lags([Self.inputs[0]: 5, others[0]: 2], of: 0)
    status.released([3], by: 0)
    #expect(status.figures.partitions == [4] && status.figures.stopped == [])
    #expect(status.figures.inputLag == [others[0]: 2])
    #expect(status.workers[0].figures.phase == .running)
    status.released([4], by: 0)
    #expect(status.workers[0].figures.phase == .joining)
  }

  @Test func `a member that was given nothing yet is still joining`() {
    let status = DaemonStatus()
    status.assigned([], to: 0, isSettled: false)
    #expect(status.workers[0].figures.phase == .joining)
    status.assigned([], to: 0)
    #expect(status.workers[0].figures.phase == .running)
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
