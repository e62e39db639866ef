import Kafka
import Testing

@testable import FeedWorker

struct PartitionTableTests {
  private static func items(_ partition: Int32) -> TopicPartition {
    TopicPartition(topic: "items", partition: partition)
  }
  private static func sections(_ partition: Int32) -> TopicPartition {
    TopicPartition(topic: "sections", partition: partition)
  }

  private func table(_ partitions: Int32...) -> PartitionTable {
    var table = PartitionTable()
    table.assign(partitions.map(Self.items) + partitions.map(Self.sections))
    return table
  }

  @Test func `inputs of one number have one state`() {
    var table = table(0, 1)
    #expect(table.inputs(.assigned) == [Self.items(0), Self.items(1), Self.sections(0), Self.sections(1)])
    table.serve([1])
    #expect(table.inputs(.serving) == [Self.items(1), Self.sections(1)])
    #expect(table.inputs(.assigned) == [Self.items(0), Self.sections(0)])
    #expect(table.state(of: 2) == nil)
  }

  @Test func `input is paused and resumed of partitions that are served only`() {
    var table = table(0, 1, 2)
    table.serve([0])
    table.pause()
    #expect([0, 1, 2].map(table.state) == [.paused, .assigned, .assigned])
    // Paused already.
    table.pause()
    table.resume()
    #expect([0, 1, 2].map(table.state) == [.serving, .assigned, .assigned])
  }

  @Test func `what leaves is neither paused, resumed nor restored again`() {
    var table = table(0, 1, 2)
    table.serve([0, 1, 2])
    table.pause()
    table.leave([1, 9])
    table.resume()
    #expect([0, 1, 2, 9].map(table.state) == [.serving, .leaving, .serving, nil])
    table.pause()
    #expect([0, 1, 2].map(table.state) == [.paused, .leaving, .paused])
    table.restoreAgain()
    #expect([0, 1, 2].map(table.state) == [.assigned, .leaving, .assigned])
    #expect(table.giveUp([1, 9]) == [Self.items(1), Self.sections(1)])
    #expect(table.numbers == [0, 2])
    #expect(table.inputs == [Self.items(0), Self.items(2), Self.sections(0), Self.sections(2)])
  }

  @Test func `a partition that comes again is restored again`() {
    var table = table(0, 1)
    table.serve([0, 1])
    table.assign([Self.items(0), Self.sections(0)])
    #expect(table.state(of: 0) == .assigned)
    #expect(table.state(of: 1) == .serving)
    #expect(table.inputs.count == 4)
  }

  @Test func `a partition is not served before it was assigned`() async {
    await #expect(processExitsWith: .failure) {
      var table = PartitionTable()
      table.serve([0])
    }
  }

  @Test func `a partition that leaves is not served`() async {
    await #expect(processExitsWith: .failure) {
      var table = PartitionTable()
      table.assign([TopicPartition(topic: "items", partition: 0)])
      table.leave([0])
      table.serve([0])
    }
  }
}
