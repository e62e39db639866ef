import Testing

@testable import FeedKafka

struct ProduceHeadTests {
  private static let client: [UInt8] = [0, 2, 0x61, 0x62]

  @Test(
    arguments: [
      (0, [0, 1]), (2, [0xFF, 0xFF]), (3, [0xFF, 0xFF, 0xFF, 0xFF]), (7, [0xFF, 0xFF, 0, 1]),
      (8, [0, 1, 0x78, 0, 1]),
    ] as [(UInt32, [UInt8])]
  )
  func `a request with acknowledgements is answered`(version: UInt32, rest: [UInt8]) {
    #expect(ProduceHead.wantsAnswer(version: version, Self.client + rest))
    #expect(ProduceHead.wantsAnswer(version: version, [0xFF, 0xFF] + rest + [0, 0, 0, 0]))
  }

  @Test(
    arguments: [
      (0, [0, 0]), (3, [0xFF, 0xFF, 0, 0]), (7, [0, 1, 0x78, 0, 0]), (9, [0xFF, 0xFF, 0, 1]),
      (3, [0xFF, 0xFF]),
      (3, [0x7F, 0xFF, 0, 1]), (0, []), (0, [0]),
    ] as [(UInt32, [UInt8])]
  )
  func `a request without acknowledgements, or an unreadable one, is not answered`(
    version: UInt32,
    rest: [UInt8]
  ) {
    #expect(!ProduceHead.wantsAnswer(version: version, Self.client + rest))
  }
}
