import Feed
import Kafka
import Testing

@testable import FeedTools

/// Reading the headers of a rejected record, and deciding whether it can be published again.
@Suite struct RejectedCopyTests {
  private static let headers = [
    ("feedstore.error.code", "unknown-section"), ("feedstore.error.message", "no section"),
    ("feedstore.source.topic", "feeds.items"), ("feedstore.source.partition", "2"),
    ("feedstore.source.offset", "7"), ("feedstore.source.timestamp", "1000"),
  ]

  private static func copy(
    key: String? = "news",
    value: String? = #"{"op":"item.upsert","item":"a"}"#,
    without left: String? = nil,
    and more: [(String, String)] = []
  ) -> RejectedCopy {
    RejectedCopy(
      position: RejectedPosition(partition: 0, offset: 3),
      timestampMilliseconds: 1000,
      key: key.map { Array($0.utf8) },
      value: value.map { Array($0.utf8) },
      headers: (headers.filter { $0.0 != left } + more).map { Header(name: $0.0, value: Array($0.1.utf8)) }
    )
  }

  private static func refusal(_ copy: RejectedCopy, replacing value: String? = nil) -> String? {
    copy.refusal(
      replacing: value.map { Array($0.utf8) },
      topics: ["feeds.items", "feeds.sections"],
      limits: Limits()
    )
  }

  @Test func `headers say why a record was rejected and where it came from`() {
    let copy = Self.copy()
    #expect(copy.code == "unknown-section" && copy.message == "no section")
    #expect(
      copy.source
        == RejectedSource(topic: "feeds.items", partition: 2, offset: 7, timestampMilliseconds: 1000)
    )
    #expect(Self.refusal(copy) == nil)
    #expect(Self.refusal(Self.copy(value: nil)) == nil, "a null deletes the feed")
  }

  @Test(
    arguments: [
      ("feedstore.source.topic", nil), ("feedstore.source.partition", nil),
      ("feedstore.source.partition", "-1"), ("feedstore.source.partition", "many"),
    ] as [(String, String?)]
  )
  func `a record with an unknown source is not published`(name: String, value: String?) {
    let copy = Self.copy(without: name, and: value.map { [(name, $0)] } ?? [])
    #expect(copy.source == nil)
    #expect(Self.refusal(copy)?.contains("do not say where it came from") == true)
  }

  @Test func `a record is not published to a topic that is not an input`() throws {
    let refusal = try #require(
      Self.refusal(
        Self.copy(without: "feedstore.source.topic", and: [("feedstore.source.topic", "payments")])
      )
    )
    #expect(refusal.contains("payments, which is not an input") && refusal.contains("use the configuration"))
  }

  @Test func `a truncated value needs a replacement, and a truncated key cannot be repaired`() throws {
    let value = Self.copy(and: [("feedstore.value.truncated", "5000000")])
    #expect(
      Self.refusal(value)?.hasPrefix(
        "only 31 of the 5000000 bytes of its value are kept; give the whole value"
      ) == true
    )
    #expect(Self.refusal(value, replacing: "[]") == nil)
    let key = Self.copy(and: [("feedstore.key.truncated", "2000000")])
    #expect(Self.refusal(key, replacing: "[]")?.hasPrefix("only 4 of the 2000000 bytes of its key") == true)
  }

  @Test(arguments: [
    ("{", "invalid-json"), (#"{"op":"item.nothing"}"#, "unknown-op"),
    (#"{"op":"item.delete"}"#, "missing-field"), ("", "invalid-json"),
  ])
  func `a record that would be rejected again for its form is refused`(value: String, code: String) throws {
    let refusal = try #require(Self.refusal(Self.copy(value: value)))
    #expect(refusal.hasPrefix("it would be rejected again with \(code): "))
    #expect(refusal.hasSuffix("; repair the value and give it with --value"))
    #expect(Self.refusal(Self.copy(), replacing: value) == refusal)
    #expect(Self.refusal(Self.copy(value: value), replacing: "[]") == nil)
  }

  @Test func `a record without a key is refused, whatever its value`() {
    let refusal = Self.refusal(Self.copy(key: nil), replacing: "[]")
    #expect(refusal?.contains("missing-key") == true && refusal?.hasSuffix("send it with a key") == true)
  }

  @Test(arguments: [
    "", "3", "3/", "/3", "3/4/5", "-1/3", "3/-1", "3/x", " 3/4", "+3/4", "2147483648/1",
    "1/9223372036854775807",
  ])
  func `a position is a partition and an offset`(text: String) {
    #expect(RejectedPosition(text) == nil)
    #expect(RejectedPosition("3/1042") == RejectedPosition(partition: 3, offset: 1042))
    #expect(RejectedPosition("3/1042")?.description == "3/1042")
  }

  @Test func `lines are safe for a terminal, and JSON has base64 for values that are not text`() {
    var copy = Self.copy(key: "ne\u{1B}[2Jws", value: nil, and: [("feedstore.value.truncated", "9")])
    #expect(
      RejectedLine.text(copy)
        == "0/3        1970-01-01T00:00:01.000Z  unknown-section  ne\u{FFFD}[2Jws          feeds.items 2/7       no section\n"
    )
    #expect(
      RejectedLine.json(copy) == #"""
        {"partition":0,"offset":3,"time":"1970-01-01T00:00:01.000Z","code":"unknown-section","message":"no section",\#
        "key":"ne\u001b[2Jws","valueBytes":null,"wholeValueBytes":9,\#
        "source":{"topic":"feeds.items","partition":2,"offset":7,"timestamp":1000}}

        """#
    )
    copy.key = [0xFF, 0x00]
    copy.headers = []
    #expect(
      RejectedLine.json(copy) == #"""
        {"partition":0,"offset":3,"time":"1970-01-01T00:00:01.000Z","code":null,"message":null,\#
        "keyBase64":"/wA=","valueBytes":null,"source":null}

        """#
    )
  }

  @Test func `a line shows the beginning of what is long, and its length`() {
    let long = String(repeating: "k\u{301}", count: 30_000)
    let line = RejectedLine.text(Self.copy(key: long))
    #expect(line.contains("k\u{301}… (90000 bytes)  feeds.items 2/7"), "\(line.prefix(500))")
    #expect(line.utf8.count < 400)
    let cut = RejectedLine.text(Self.copy(key: long, and: [("feedstore.key.truncated", "2000000")]))
    #expect(cut.contains("… (2000000 bytes)"))
    let message = RejectedLine.text(
      Self.copy(without: "feedstore.error.message", and: [("feedstore.error.message", long)])
    )
    #expect(message.utf8.count < 4_000 && message.hasSuffix("… (90000 bytes)\n"))
    // Programs get everything.
    #expect(RejectedLine.json(Self.copy(key: long)).contains(long))
  }
}
