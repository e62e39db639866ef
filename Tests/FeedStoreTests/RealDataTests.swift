import ChangesetTestSupport
import Feed
import FeedStore
import FeedTestSupport
import Oracle
import Testing

/// The beginnings of real histories, checked like random ones.
@Suite struct RealDataTests {
  @Test(
    .disabled(if: RealHistory.areAbsent, "the real replay files are not beside the checkout"),
    arguments: RealHistory.all
  )
  func `a real history is published as by the oracle`(history: RealHistory) async throws {
    let parser = ReplayLineParser()
    var records: [OracleRecord] = []
    for line in try history.lines() {
      try line.withUnsafeBytes { bytes in
        guard let record = try parser.parse(ByteSpan(bytes)) else { return }
        records.append(
          OracleRecord(
            topic: String(decoding: record.position.topic, as: UTF8.self),
            partition: Int(record.partition),
            offset: Int(record.position.offset),
            timestamp: Int(record.position.timestamp),
            key: record.key.map { Array($0.buffer) },
            value: record.valueBytes.map { Array($0.buffer) }
          )
        )
      }
    }
    #expect(records.count == history.lineCount)
    var driver = StoreDriver()
    let replicas = ReplicaPartition()
    driver.onFlush = { output in
      for record in output {
        if case .mismatch(let fault) = try replicas.apply(record) { throw fault }
      }
    }
    try await driver.run(records, checkingInvariants: false)
    #expect(
      replicas.replicas.map(\.checksum) == (await driver.store.summaries()).map(\.checksum)
    )
  }
}
