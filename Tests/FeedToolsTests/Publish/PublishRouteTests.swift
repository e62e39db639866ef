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

struct PacerTests {
  @Test func `records are due by their distance from the first`() {
    var pacer = Pacer(speed: 1)
    #expect(pacer.wait(for: 1_000, now: 50) == 0)
    #expect(pacer.wait(for: 1_500, now: 50) == 500)
    #expect(pacer.wait(for: 1_500, now: 300) == 250)
    #expect(pacer.wait(for: 1_500, now: 550) == 0)
    #expect(pacer.wait(for: 1_500, now: 9_000) == 0)
  }

  @Test func `a speed divides the distances`() {
    var fast = Pacer(speed: 10)
    #expect(fast.wait(for: 0, now: 0) == 0)
    #expect(fast.wait(for: 5_000, now: 100) == 400)
    var slow = Pacer(speed: 0.5)
    #expect(slow.wait(for: 0, now: 0) == 0)
    #expect(slow.wait(for: 5_000, now: 0) == 10_000)
  }

  @Test func `timestamps before the first are due at once`() {
    var pacer = Pacer(speed: 1)
    #expect(pacer.wait(for: 1_000, now: 0) == 0)
    #expect(pacer.wait(for: 10, now: 0) == 0)
    #expect(pacer.wait(for: .min, now: 0) == 0)
  }

  @Test func `huge distances do not overflow`() {
    var pacer = Pacer(speed: 0.001)
    #expect(pacer.wait(for: .min, now: 0) == 0)
    #expect(pacer.wait(for: .max, now: 0) > 0)
  }
}
