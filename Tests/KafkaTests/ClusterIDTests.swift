import Glibc
import Testing

@testable import Kafka

struct ClusterIDTests {
  @Test func `a producer recognises the embedded cluster after a metadata request`() throws {
    let fixture = try Fixture()
    try fixture.fill("some", partitions: 1, recordsEach: 1)
    let producer = try fixture.producer()
    _ = try producer.metadata(["some"], timeoutMilliseconds: 120_000)
    #expect(producer.isOnEmbeddedCluster)
  }

  @Test func `brokers of the embedded cluster send at once`() throws {
    let fixture = try Fixture(brokerCount: 2)
    let ports = fixture.cluster.bootstrapServers.split(separator: ",").compactMap {
      $0.split(separator: ":").last.flatMap { UInt16($0) }
    }
    var sent: Set<UInt16> = []
    for descriptor in 0..<Int32(1_024) {
      var address = sockaddr_in()
      var (size, flag) = (socklen_t(MemoryLayout<sockaddr_in>.size), Int32(0))
      var flagSize = socklen_t(MemoryLayout<Int32>.size)
      let isNamed = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
      }
      guard isNamed, getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &flag, &flagSize) == 0, flag == 1,
        getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &flag, &flagSize) == 0, flag == 1
      else { continue }
      sent.insert(UInt16(bigEndian: address.sin_port))
    }
    #expect(sent.isSuperset(of: ports))
  }
}
