import Testing

@testable import FeedKafka

struct GatedConnectionTests {
  private func replaced(_ answer: [UInt8]) -> [UInt8] {
    var answer = answer
    GatedConnection.replaceAddresses(in: &answer, of: 0x1234, by: 0xABCD)
    return answer
  }

  @Test func `the broker's address is replaced by the gate's, wherever it is`() {
    let host = Array("127.0.0.1".utf8)
    let answer = [1, 0, 9] + host + [0, 0, 0x12, 0x34, 7, 10] + host + [0, 0, 0x12, 0x34]
    #expect(replaced(answer) == [1, 0, 9] + host + [0, 0, 0xAB, 0xCD, 7, 10] + host + [0, 0, 0xAB, 0xCD])
  }

  @Test func `nothing else changes`() {
    let host = Array("127.0.0.1".utf8)
    for answer in [
      [], host, host + [0, 0, 0x12], host + [0, 0, 0x12, 0x35], host + [0, 1, 0x12, 0x34],
      [0, 0, 0x12, 0x34],
      Array("127.0.0.2".utf8) + [0, 0, 0x12, 0x34],
    ] as [[UInt8]] {
      #expect(replaced(answer) == answer)
    }
  }
}
