import Kafka
import Testing

@testable import FeedStatus

@Suite struct DaemonStatusTests {
  private static let inputs = [
    TopicPartition(topic: "feeds.items", partition: 3), TopicPartition(topic: "feeds.sections", partition: 3),
  ]

  @Test func `a worker goes from its share to what is restored, and back`() {
    let status = DaemonStatus(workers: 2)
    func phases() -> [WorkerPhase] { status.workers.map(\.statistics.phase) }
    #expect(phases() == [.starting, .starting])
    status.assigned(Self.inputs, to: 0)
    status.assigned([], to: 1)
    #expect(phases() == [.restoring, .running])
    #expect(status.statistics.partitions == [3])
    status.running(0, except: [3])
    #expect(phases() == [.running, .running])
    #expect(status.statistics.stopped == [3])
    status.restoring(0)
    #expect(phases() == [.restoring, .running])
    #expect(status.statistics.stopped == [])
    status.released([3], by: 0)
    #expect(phases() == [.joining, .running])
    #expect(status.statistics.partitions == [])
    #expect(status.statistics.rebalances == [.assigned: 2])
  }

  @Test func `partitions come and go one by one`() {
    let status = DaemonStatus()
    let others = Self.inputs.map { TopicPartition(topic: $0.topic, partition: 4) }
    status.assigned(Self.inputs, to: 0)
    status.running(0, except: [3])
    status.assigned(Self.inputs + others, to: 0)
    #expect(status.statistics.restoring == [4])
    #expect(status.statistics.stopped == [3], "what stays is as it was")
    #expect(status.workers[0].statistics.phase == .restoring)
    status.restored([4], by: 0)
    #expect(status.statistics.restoring == [])
    status.running(0, except: [3])
    status.lags([Self.inputs[0]: 5, others[0]: 2], of: 0)
    status.released([3], by: 0)
    #expect(status.statistics.partitions == [4] && status.statistics.stopped == [])
    #expect(status.statistics.inputLag == [others[0]: 2])
    #expect(status.workers[0].statistics.phase == .running)
    status.released([4], by: 0)
    #expect(status.workers[0].statistics.phase == .joining)
  }

  @Test func `a member that was given nothing yet is still joining`() {
    let status = DaemonStatus()
    status.assigned([], to: 0, isSettled: false)
    #expect(status.workers[0].statistics.phase == .joining)
    status.assigned([], to: 0)
    #expect(status.workers[0].statistics.phase == .running)
  }

  @Test func `lag is kept by topic and partition, and added up by number`() {
    let status = DaemonStatus()
    status.assigned(Self.inputs, to: 0)
    status.lags([Self.inputs[0]: 5, Self.inputs[1]: 2], of: 0)
    #expect(status.statistics.lagByNumber == [3: 7])
    status.released([3], by: 0)
    #expect(status.statistics.inputLag.isEmpty)
  }

  @Test func `a commit ends a row of transactions that were withdrawn`() {
    let worker = WorkerStatus(number: 0)
    worker.ended(.withdrawn, withdrawnInARow: 1)
    worker.ended(.withdrawn, withdrawnInARow: 2)
    #expect(worker.statistics.withdrawnInARow == 2)
    #expect(worker.statistics.lastCommit == 0)
    worker.ended(.committed)
    #expect(worker.statistics.withdrawnInARow == 0)
    #expect(worker.statistics.lastCommit > 0)
    #expect(worker.statistics.transactions == [.withdrawn: 2, .committed: 1])
  }
}
