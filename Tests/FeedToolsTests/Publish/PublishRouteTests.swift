import Testing

@testable import FeedKafka
@testable import FeedTools

struct PublishRouteTests {
  private func partition(_ route: inout PublishRoute, _ key: String, recorded: Int32) throws -> Int32 {
    try Array(key.utf8).withUnsafeBytes { try route.partition(key: $0, recorded: recorded) }
  }

  @Test func `on an input, the key determines the partition, as in the Java client`() throws {
    var route = PublishRoute("feeds.items", isInput: true, partitionCount: 4)
    // murmur2("21") is -973932308 in Kafka's own tests.
    let expected = (-973_932_308 & Int32.max) % 4
    #expect(try partition(&route, "21", recorded: 77) == expected)
  }

  @Test func `on another topic, the recorded partition is kept`() throws {
    var route = PublishRoute("feeds.changesets", isInput: false, partitionCount: 4)
    #expect(try partition(&route, "k0/a", recorded: 3) == 3)
    #expect(try partition(&route, "d1/a", recorded: 3) == 3)
    for partition in [4, -1] as [Int32] {
      let error = #expect(throws: DaemonError.self) {
        try self.partition(&route, "k0/a", recorded: partition)
      }
      #expect(error?.message.contains("feeds.changesets [\(partition)]") == true)
      #expect(error?.message.contains("has 4 partitions") == true)
    }
  }
}
