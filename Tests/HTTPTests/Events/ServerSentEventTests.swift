import Testing

@testable import HTTP

@Suite struct ServerSentEventTests {
  private func encoded(_ data: String, id: String? = nil, name: String? = nil) -> String {
    String(
      decoding: EncodedEvent(id: id, name: name, data: Array(data.utf8)).bytes,
      as: UTF8.self
    )
  }

  @Test func `a message has its fields and an empty line`() {
    #expect(encoded("{}", id: "7", name: "reload") == "id: 7\nevent: reload\ndata: {}\n\n")
    #expect(encoded("{}") == "data: {}\n\n")
    #expect(encoded("") == "data: \n\n")
    #expect(encoded("é", id: "") == "id: \ndata: é\n\n")
  }

  @Test(arguments: ["\n", "\r", "\r\n"])
  func `every line break begins a line`(_ lineBreak: String) {
    #expect(encoded("a\(lineBreak)b") == "data: a\ndata: b\n\n")
    #expect(encoded("\(lineBreak)a\(lineBreak)\(lineBreak)") == "data: \ndata: a\ndata: \ndata: \n\n")
  }

  @Test(arguments: [1, 5, 17, 200])
  func `a tag precedes the first member, whatever part is sent at a time`(_ size: Int) throws {
    let event = EncodedEvent(id: "e@{7", name: "n", data: Array("{\"a\":1,\"b\":{}}".utf8))
    let tagged = event.tagged(Array("\"view\":\"1\",".utf8))
    var queue = EventQueue(limit: tagged.count + event.count)
    #expect(queue.append(tagged) && queue.append(event))
    #expect(!queue.append(.heartbeat) && queue.byteCount == queue.limit)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
    defer { buffer.deallocate() }
    var text: [UInt8] = []
    while !queue.isEmpty { text += buffer[..<queue.take(into: buffer)] }
    let head = "id: e@{7\nevent: n\ndata: {"
    let rest = "\"a\":1,\"b\":{}}\n\n"
    #expect(String(decoding: text, as: UTF8.self) == head + "\"view\":\"1\"," + rest + head + rest)
    #expect(queue.byteCount == 0)
  }

  @Test func `no field can begin within another`() {
    #expect(
      encoded("x", id: "1\ndata: forged\r\u{0}2", name: "a\r\n\r\nb")
        == "id: 1data: forged2\nevent: ab\ndata: x\n\n"
    )
  }
}
