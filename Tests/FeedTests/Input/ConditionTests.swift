import Testing

@testable import Feed

@Suite struct ConditionTests {
  private static let item =
    #"{"op":"item.upsert","item":"a","section":"s","data":{"s":"open","n":1.0,"l":[1]}}"#

  /// The message for a record of a feed with one item.
  ///
  /// - Parameter isPublished: whether the item is in revision 1, or not published yet.
  private static func message(_ value: String, isPublished: Bool = true) -> String? {
    let ground = FeedGround()
    #expect(ground.apply(item) == nil)
    if isPublished {
      ground.feed.version = PublishedVersion(epoch: Array("t:0/1".utf8), revision: 1, through: [])
      ground.feed.confirm()
    }
    return ground.apply(value)
  }

  private static func event(_ condition: String) -> String { #"{"op":"feed.reload","if":\#(condition)}"# }

  @Test(arguments: [
    (#"{"revision":2}"#, "field 'if.revision' expects 2, found revision 1"),
    (#"{"epoch":"e"}"#, #"field 'if.epoch' expects "e", found "t:0/1""#),
    (
      #"{"absent":"a"}"#,
      #"field 'if.absent' expects no item "a", found one with the data the object {"s":"open","n":1.0,"l":[1]}"#
    ),
    (#"{"item":"b"}"#, #"field 'if.item' expects an item "b", found none"#),
    (
      #"{"item":"a","data":{"/s":"shut"}}"#,
      #"field 'if.data' expects "shut" at "/s" of item "a", found "open""#
    ),
    (
      #"{"item":"a","data":{"/n":1,"/x":0}}"#,
      #"field 'if.data' expects the number 0 at "/x" of item "a", found nothing"#
    ),
    (
      #"{"item":"a","data":{"/l":null}}"#,
      #"field 'if.data' expects null at "/l" of item "a", found the array [1]"#
    ),
  ]) func `a condition that does not hold says what is there`(condition: String, message: String) {
    #expect(Self.message(Self.event(condition)) == message)
    #expect(Self.message(#"[{"op":"feed.reload"},\#(Self.event(condition))]"#) == "event 1: \(message)")
  }

  @Test func `changes that are not published are no revision`() {
    let unpublished = Self.message(Self.event(#"{"revision":0}"#), isPublished: false)
    #expect(unpublished == "field 'if.revision' expects 0, found unpublished changes after it")
    #expect(Self.message(Self.event(#"{"revision":1}"#)) == nil)
    let epoch = Self.message(Self.event(#"{"epoch":"t:0/1"}"#), isPublished: false)
    #expect(epoch == #"field 'if.epoch' expects "t:0/1", found no published feed"#)
  }

  @Test func `what is long is cut in messages`() throws {
    let long = String(repeating: "x", count: 1_000_000)
    let fitting = String(repeating: "y", count: 10_000)
    for condition in [
      #"{"item":"a","data":{"/s":"\#(long)"}}"#, #"{"item":"\#(long)"}"#, #"{"\#(long)":1}"#, "\"\(long)\"",
      #"{"item":"a","data":{"\#(long)":1}}"#, #"{"epoch":"\#(long)"}"#,
      #"{"item":"a","data":{"/s":"\#(fitting)"}}"#,
    ] {
      let message = try #require(Self.message(Self.event(condition)))
      #expect(message.utf8.count < 400, "\(message)")
    }
  }
}
