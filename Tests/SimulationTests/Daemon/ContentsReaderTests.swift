import Diagnostics
import Feed
import FeedConfiguration
import FeedStore
import OperatingSystem
import Settings
import SimulationSupport
import Testing

@testable import FeedKafka
@testable import FeedStatus
@testable import FeedTransactions
@testable import Kafka

@Suite struct ContentsReaderTests {
  private let laboratory = Laboratory()

  private let status = DaemonStatus()
  private let configuration: FeedStoreConfiguration = {
    var configuration = FeedStoreConfiguration()
    configuration.store.topics.contents = "contents"
    return configuration
  }()

  private func reader(_ process: SimulatedProcess) throws -> ContentsReader {
    let clients = SimulatedClients(network: laboratory.network, process: process, queueCapacity: 100)
    let log = Log(level: .warning, output: DiagnosticOutput(isTerminal: false) { _ in })
    var environment = WorkerEnvironment(status, stop: StopRequest(clock: clients.milliseconds), log: log)
    environment.clients = clients
    let settings = try KafkaSettings([ConfigurationPair(name: "bootstrap.servers", value: "simulated")])
    return ContentsReader("contents", configuration, settings, environment)
  }

  /// Adds a partition with one content.
  private func grow() {
    let number = Int32(laboratory.cluster.topics["contents"]?.count ?? 0)
    laboratory.cluster.grow("contents")
    let record = SimulatedRecord(key: Array("c\(number)".utf8), value: Array("{}".utf8), timestamp: 0)
    laboratory.cluster.append(record, to: TopicPartition(topic: "contents", partition: number))
  }

  @Test func `a restoration reads added partitions, and waits for a topic that a broker does not know`() {
    laboratory.run { [self] process in
      let reader = try reader(process)
      #expect(throws: KafkaError.self) { try reader.requestEnds(timeoutMilliseconds: 1_000) }
      for count in 1...3 {
        grow()
        let ends = try reader.requestEnds(timeoutMilliseconds: 1_000)
        #expect(ends.count == count && ends.values.allSatisfy { $0 == 1 })
        while try reader.read(upTo: ends, timeoutMilliseconds: 100, while: { true }) > 0 {}
        #expect(reader.table.count == count)
      }
    }
  }

  @Test func `a worker reads added partitions without waiting for brokers`() {
    laboratory.run { [self] process in
      let reader = try reader(process)
      grow()
      var metadata = TopicMetadata()
      metadata.partitionCounts["contents"] = 1
      status.found(TopicChanges(configuration.store.topics, metadata))
      _ = try reader.requestEnds(timeoutMilliseconds: 1_000)
      grow()
      metadata.partitionCounts["contents"] = 2
      _ = status.changeTopics { $0.note(metadata) }
      for _ in 0..<5 {
        try reader.readArrived { true }
        laboratory.simulator.sleep(1_000_000)
      }
      #expect(reader.table.count == 2)
    }
  }
}
