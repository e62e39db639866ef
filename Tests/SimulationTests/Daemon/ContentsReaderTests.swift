import Diagnostics
import Feed
import FeedConfiguration
import Kafka
import OperatingSystem
import Settings
import SimulationSupport
import Testing

@testable import FeedKafka
@testable import FeedStatus
@testable import FeedTransactions

@Suite struct ContentsReaderTests {
  private let laboratory = Laboratory()

  private func reader(_ process: SimulatedProcess) throws -> ContentsReader {
    let clients = SimulatedClients(network: laboratory.network, process: process, queueCapacity: 100)
    let log = Log(level: .warning, output: DiagnosticOutput(isTerminal: false) { _ in })
    var environment = WorkerEnvironment(
      DaemonStatus(),
      stop: StopRequest(clock: clients.milliseconds),
      log: log
    )
    environment.clients = clients
    let settings = try KafkaSettings([ConfigurationPair(name: "bootstrap.servers", value: "simulated")])
    return ContentsReader("contents", FeedStoreConfiguration(), settings, environment)
  }

  @Test
  func `a restoration reads partitions that were added, and waits for a topic that a broker does not know`() {
    laboratory.run { [self] process in
      let reader = try reader(process)
      #expect(throws: KafkaError.self) { try reader.requestEnds(timeoutMilliseconds: 1_000) }
      for number in Int32(0)..<3 {
        laboratory.cluster.grow("contents")
        let partition = TopicPartition(topic: "contents", partition: number)
        laboratory.cluster.append(
          SimulatedRecord(key: Array("c\(number)".utf8), value: Array("{}".utf8), timestamp: 0),
          to: partition
        )
        let ends = try reader.requestEnds(timeoutMilliseconds: 1_000)
        #expect(ends[number] == 1 && ends.count == number + 1)
        while try reader.read(upTo: ends, timeoutMilliseconds: 100, while: { true }) > 0 {}
        #expect(reader.table.count == number + 1)
      }
    }
  }
}
