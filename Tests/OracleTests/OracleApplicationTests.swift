import Oracle
import Testing

struct OracleApplicationTests {
  private static let start = OperationExamples.start

  @Test func `absent fields keep their values`() {
    var one = OneFeed()
    one.apply(Self.start)
    one.apply(#"{"op":"feed.replace","sections":[{"id":"y","items":[{"id":"a","data":2}]},{"id":"x"}]}"#)
    #expect(one.current?.item(bytes("a")) == OracleItem(id: bytes("a"), kind: bytes("k"), data: bytes("2")))
    #expect(one.current?.section(bytes("x"))?.data == bytes("1"))
    one.apply(
      #"[{"op":"feed.delete"},{"op":"feed.replace","sections":[{"id":"x","items":["a"]}]}]"#
    )
    #expect(one.current == feed("x: a"))
  }

  @Test func `arrays are atomic`() {
    var one = OneFeed()
    one.apply(Self.start)
    let before = one.current
    let value =
      #"[{"op":"feed.clear"},{"op":"section.upsert","section":"n"},{"op":"item.upsert","item":"q"}]"#
    let rejection = OracleRejection(.unknownSection, event: 2, field: "section")
    #expect(one.apply(value) == .rejected(rejection))
    #expect(one.current == before)
  }

  @Test func `no-ops have their reasons`() {
    var one = OneFeed()
    for (event, reason) in [
      (#"{"op":"item.delete","item":"a"}"#, OracleNoOp.unknownItem),
      (#"{"op":"section.reload","section":"a"}"#, .unknownSection),
      (#"{"op":"section.move","section":"a","at":{"before":"a"}}"#, .unknownSection),
      (#"{"op":"feed.clear"}"#, .unknownFeed), (#"{"op":"feed.reload"}"#, .unknownFeed),
    ] {
      #expect(one.apply(event) == .applied(noOps: [reason]))
      #expect(one.current == nil)
    }
    #expect(one.apply(nil) == .applied(noOps: [.unknownFeed]))
    #expect(one.flush() == nil)
  }

  @Test func `forced entries are dropped with their elements`() {
    var one = OneFeed()
    one.apply(Self.start)
    _ = one.flush()
    one.apply(#"[{"op":"item.reload","item":"a"},{"op":"item.reconfigure","item":"d"},{"op":"feed.reload"}]"#)
    one.apply(#"[{"op":"section.reload","section":"y"},{"op":"item.reload","item":"c"}]"#)
    one.apply(#"[{"op":"section.delete","section":"x"},{"op":"item.upsert","item":"a","section":"y"}]"#)
    let forced = one.flush()?.forced
    #expect(forced?.itemReloads == [])
    #expect(forced?.itemReconfigures == [bytes("d")])
    #expect(forced?.sectionReloads == [bytes("y")])
    #expect(forced?.feedReload == true)
    one.apply(#"[{"op":"feed.reload"},{"op":"feed.delete"},{"op":"feed.replace","sections":[]}]"#)
    #expect(one.flush()?.forced.isEmpty == true)
  }
}
