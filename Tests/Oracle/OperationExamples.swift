/// The effect of each operation, by example. The oracle and the product must agree with them.
public enum OperationExamples {
  public static let start = """
    {"op":"feed.replace","sections":[{"id":"x","data":1,"items":[{"id":"a","kind":"k","data":1},"b","c"]},
    {"id":"y","items":["d","e"]},{"id":"z"}]}
    """

  /// An event, and the feed after it as ``OracleFeed/outline``.
  public static let all: [(event: String, result: String)] = [
    (#"{"op":"feed.clear"}"#, ""),
    (#"{"op":"feed.replace","sections":[{"id":"y","items":["e","a"]},{"id":"x"}]}"#, "y: e a | x:"),
    (#"{"op":"section.upsert","section":"z","at":"first"}"#, "z: | x: a b c | y: d e"),
    (#"{"op":"section.upsert","section":"w"}"#, "x: a b c | y: d e | z: | w:"),
    (#"{"op":"section.upsert","section":"w","at":{"index":1}}"#, "x: a b c | w: | y: d e | z:"),
    (#"{"op":"section.upsert","section":"x","data":2}"#, "x: a b c | y: d e | z:"),
    (#"{"op":"section.move","section":"x","at":{"after":"y"}}"#, "y: d e | x: a b c | z:"),
    (#"{"op":"section.move","section":"x","at":{"index":1}}"#, "y: d e | x: a b c | z:"),
    (#"{"op":"section.move","section":"x","at":{"index":9}}"#, "y: d e | z: | x: a b c"),
    (#"{"op":"section.delete","section":"x"}"#, "y: d e | z:"),
    (
      #"{"op":"section.replace","section":"z","items":["d","a","f"],"at":"first"}"#,
      "z: d a f | x: b c | y: e"
    ),
    (#"{"op":"section.replace","section":"w","items":["c"]}"#, "x: a b | y: d e | z: | w: c"),
    (#"{"op":"section.replace","section":"x","items":["c","a"]}"#, "x: c a | y: d e | z:"),
    (#"{"op":"item.upsert","item":"f","section":"x"}"#, "x: a b c f | y: d e | z:"),
    (#"{"op":"item.upsert","item":"f","section":"w","at":"first"}"#, "x: a b c | y: d e | z: | w: f"),
    (#"{"op":"item.upsert","item":"a","data":5}"#, "x: a b c | y: d e | z:"),
    (#"{"op":"item.upsert","item":"a","section":"x","data":5}"#, "x: a b c | y: d e | z:"),
    (#"{"op":"item.upsert","item":"a","section":"y"}"#, "x: b c | y: d e a | z:"),
    (#"{"op":"item.upsert","item":"a","section":"y","at":{"before":"e"}}"#, "x: b c | y: d a e | z:"),
    (#"{"op":"item.upsert","item":"a","at":{"after":"b"}}"#, "x: b a c | y: d e | z:"),
    (#"{"op":"item.move","item":"c","at":{"index":1}}"#, "x: a c b | y: d e | z:"),
    (#"{"op":"item.move","item":"c"}"#, "x: a b c | y: d e | z:"),
    (#"{"op":"item.move","item":"c","section":"w"}"#, "x: a b | y: d e | z: | w: c"),
    (#"{"op":"item.delete","item":"b"}"#, "x: a c | y: d e | z:"),
  ]
}

extension OracleFeed {
  /// The ids in order: `today: a b | live: c`.
  public var outline: String {
    func text(_ id: [UInt8]) -> String { String(decoding: id, as: UTF8.self) }
    return sections.map { section in
      ([text(section.id) + ":"] + section.items.map { text($0.id) }).joined(separator: " ")
    }.joined(separator: " | ")
  }
}
