import Testing

@testable import Kafka

struct ClusterIDTests {
  @Test func `the cluster's id is known after a metadata request`() throws {
    let fixture = try Fixture()
    defer { fixture.cluster.stop() }
    try fixture.fill("some", partitions: 1, recordsEach: 1)
    let (one, other) = (try fixture.consumer(), try fixture.consumer())
    _ = try one.metadata(["some"], timeoutMilliseconds: 120_000)
    _ = try other.metadata(["some"], timeoutMilliseconds: 120_000)
    let id = try #require(try one.clusterID())
    #expect(!id.isEmpty)
    #expect(try other.clusterID() == id)
    let producer = try fixture.producer()
    #expect(!producer.isOnEmbeddedCluster)
    _ = try producer.metadata(["some"], timeoutMilliseconds: 120_000)
    #expect(producer.isOnEmbeddedCluster)
    try producer.close(timeoutMilliseconds: 120_000)
    try one.close(timeoutMilliseconds: 120_000)
    #expect(throws: KafkaError.self) { _ = try one.clusterID() }
    try other.close(timeoutMilliseconds: 120_000)
  }
}
