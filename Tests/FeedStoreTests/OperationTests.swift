import ChangesetTestSupport
import Feed
import Oracle
import Testing

@Suite struct OperationTests {
  @Test(arguments: OperationExamples.all)
  func `operations have their effects`(_ event: String, _ result: String) async throws {
    let replicas = ReplicaPartition()
    var driver = StoreDriver()
    driver.onFlush = { for record in $0 { _ = try replicas.apply(record) } }
    let records = [OperationExamples.start, event].enumerated().map { offset, value in
      OracleRecord(offset: offset, timestamp: 1_000 * offset, key: Array("f".utf8), value: Array(value.utf8))
    }
    try await driver.run(records)
    #expect(replicas.replica(of: "f")?.oracleFeed.outline == result)
  }
}
