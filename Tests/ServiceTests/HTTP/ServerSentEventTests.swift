import Service
import Testing

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

  @Test func `no field can begin within another`() {
    #expect(
      encoded("x", id: "1\ndata: forged\r\u{0}2", name: "a\r\n\r\nb")
        == "id: 1data: forged2\nevent: ab\ndata: x\n\n"
    )
  }
}
