import Feed
import Kafka
import Testing

@testable import FeedHTTP
@testable import FeedKafka

struct InstanceAddressTests {
  @Test func `an instance's address is part of its client id`() {
    let url = "http://host-3:8321"
    let id = InstanceAddress.clientID("feed@store", url: url)
    #expect(id == "feed@store@http://host-3:8321")
    #expect(InstanceAddress.url(in: id) == url)
    #expect(InstanceAddress.clientID("feedstore", url: "") == "feedstore")
    for strange in ["feedstore", "", "@http", "a@httpd", "http://host"] {
      #expect(InstanceAddress.url(in: strange) == nil)
    }
  }

  @Test func `the partitions of both inputs have their member's address`() {
    func member(_ id: String, _ partitions: [Int32]) -> GroupMember {
      GroupMember(
        clientID: id,
        host: "/10.0.0.1",
        partitions: partitions.flatMap { number in
          ["feeds.items", "feeds.sections"].map { TopicPartition(topic: $0, partition: number) }
        }
      )
    }
    let urls = InstanceAddress.urls(of: [
      member("feedstore@http://a", [0, 2]), member("feedstore", [1]), member("feedstore@https://b:1", [3]),
    ])
    #expect(urls == [0: "http://a", 2: "http://a", 3: "https://b:1"])
  }

  @Test func `a bounded number of moved feeds is remembered, until they are assigned again`() {
    let moved = MovedFeeds(limit: 2)
    moved.add([("a", 1), ("a", 2), ("b", 2)].map { (feed: ByteText($0.0), partition: $0.1) })
    #expect(moved.partitions(of: ByteText("a")) == [1, 2])
    #expect(moved.partitions(of: ByteText("b")) == [])
    moved.note([1: "http://a", 2: "http://b"])
    #expect(moved.url(of: 1) == "http://a")
    moved.remove([1])
    #expect(moved.partitions(of: ByteText("a")) == [2])
    #expect(moved.url(of: 1) == nil)
    moved.add([(feed: ByteText("b"), partition: 3)])
    #expect(moved.partitions(of: ByteText("b")) == [3])
  }
}
