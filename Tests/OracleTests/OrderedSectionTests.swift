import Feed
import Oracle
import Testing

/// The oracle's rules of ordered sections, as tables.
struct OrderedSectionTests {
  // MARK: - Comparison

  /// Values in ascending order; those in a row are equal.
  private static let ascending = [
    ["false"], ["true"],
    ["-1e99999999999", "-10e99999999998"], ["-1e400"], ["-123456789012345678901234567890"],
    ["-100", "-1E+2"],
    ["-99.99999999999999999999"], ["-1", "-1.0", "-10e-1"], ["-1e-400"], ["-1e-99999999999"],
    ["0", "-0", "0.0", "0e5", "-0E-3", "0.00e99999999999"],
    ["1e-99999999999", "0.1e-99999999998"], ["1e-400"], ["0.5", "5e-1", "50E-2"],
    ["1", "1.0", "10e-1", "0.1e1", "0.001e+3", "1e0", "1e-0", "100e-0000000000000000000000002"],
    ["1.00000000000000000000000001"], ["2"], ["9"], ["10", "1e1", "1.0E+1", "10.000"],
    ["9007199254740992", "9007199254740992.0"], ["9007199254740993"],
    ["123456789012345678901234567890", "0.123456789012345678901234567890e30"],
    ["1e400", "10E399"], ["1e9999999999"], ["1e10000000000", "0.01e10000000002"], ["2e10000000000"],
    [#""""#], [#""\u0000""#], [#""10""#], [#""9""#], [#""a""#, #""\u0061""#], [#""aa""#], [#""b""#],
    ["\"e\u{301}\""], [#""é""#, #""\u00e9""#, #""\u00E9""#], [#""\uffff""#],
    ["\"\u{1F600}\"", #""\ud83d\ude00""#],
    ["null", "[]", "{}", "[1]", #"{"a":1}"#],
  ]

  @Test func `values have an order`() throws {
    let rows = try Self.ascending.map { try $0.map { OracleSortValue(try OracleJSON.parse(bytes($0))) } }
    let last = rows.count - 1
    for (row, values) in rows.enumerated() {
      for (other, others) in rows.enumerated() {
        for (value, right) in values.flatMap({ value in others.map { (value, $0) } }) {
          let name = "\(Self.ascending[row]) and \(Self.ascending[other])"
          #expect((value == right) == (row == other), "\(name)")
          #expect(value.comes(before: right, isDescending: false) == (row < other), "\(name)")
          // Values that cannot be compared are last in both directions.
          let isBefore = row == last ? false : other == last ? true : row > other
          #expect(value.comes(before: right, isDescending: true) == isBefore, "descending: \(name)")
        }
      }
    }
    #expect(OracleSortValue(nil) == .other && rows[last].allSatisfy { $0 == .other })
  }

  @Test func `numbers may be long`() {
    let zeros = String(repeating: "0", count: 100_000)
    let nines = String(repeating: "9", count: 100_000)
    // Without the numbers, which a failure would print.
    let equal = [
      ("1" + zeros, "1e100000"), ("1" + zeros + "." + zeros, "0.\(zeros)1e200001"),
      ("0." + zeros + "1", "1e-100001"), ("10e" + nines, "1e1" + zeros), ("0.1e-" + nines, "1e-1" + zeros),
      ("0e" + nines, "0"), ("-0." + zeros + "e" + nines, "0"),
    ].map { OracleNumber(bytes($0)) == OracleNumber(bytes($1)) }
    #expect(equal.allSatisfy { $0 }, "\(equal)")
    let ascending = [
      "-1" + zeros, "-" + nines + ".11", "-" + nines + ".1", "-" + nines, "-1e99999", "-0." + nines,
      "-1e-" + nines,
      "0", "1e-1" + zeros, "1e-" + nines, "1e-99999", "0." + nines, "1", "1e99999", nines, nines + ".1",
      nines + ".11", "1e100000", "0.01e1" + zeros, "1e" + nines, "1.1e" + nines, "1e1" + zeros,
    ].map { OracleNumber(bytes($0)) }
    let pairs = zip(ascending, ascending.dropFirst()).map { $0 < $1 && !($1 < $0) && $0 != $1 }
    #expect(pairs.allSatisfy { $0 }, "\(pairs)")
  }

  @Test func `items are compared by each key in turn, then by id`() throws {
    let items: [(id: String, data: String)] = [
      ("a", #"{"s":1,"n":"x"}"#), ("b", #"{"s":2.0,"n":"x"}"#), ("c", #"{"s":2,"n":"y"}"#),
      ("d", #"{"n":"z"}"#), ("e", #"{"s":2,"n":"y"}"#), ("f", "7"), ("g", #"{"s":"2","n":null}"#),
      ("\u{e9}", #"{"s":0,"s":1,"n":"x"}"#), ("e\u{301}", #"{"s":1,"n":"x"}"#),
    ]
    for (order, expected) in [
      (#"[{"by":"/s"}]"#, "a e\u{301} \u{e9} b c e g d f"),
      (#"[{"by":"/s","direction":"descending"}]"#, "g b c e a e\u{301} \u{e9} d f"),
      (#"[{"by":"/s"},{"by":"/n","direction":"descending"}]"#, "a e\u{301} \u{e9} c e b g d f"),
      (#"[{"by":"/n","direction":"descending"},{"by":"/s"}]"#, "d c e a e\u{301} \u{e9} b g f"),
      (#"[{"by":""}]"#, "f a b c d e e\u{301} g \u{e9}"),
      (#"[{"by":"/none"}]"#, "a b c d e e\u{301} f g \u{e9}"),
    ] {
      let given = items.map { OracleItem(id: bytes($0.id), data: bytes($0.data)) }
      let order = try #require(OracleSectionOrder(OracleJSON.parse(bytes(order))))
      for items in [given, given.reversed()] {
        let ids = order.sorted(items).map(\.id)
        #expect(ids == expected.split(separator: " ").map { bytes(String($0)) }, "\(text(order.canonical))")
      }
    }
  }

  // MARK: - Pointers

  @Test(
    arguments: [
      ("", "5", "5"), ("", #"{"a":1}"#, #"{"a":1}"#), ("/a", #"{"a":1,"b":2}"#, "1"), ("/a", "5", nil),
      ("/a", "null", nil), ("/a", #""a""#, nil), ("/a", #"{"b":1}"#, nil), ("/a/b", #"{"a":{"b":1}}"#, "1"),
      ("/a/b", #"{"a":1}"#, nil), ("/", #"{"":1}"#, "1"), ("//", #"{"":{"":1}}"#, "1"), ("/", "[1]", nil),
      ("/0", "[1,2]", "1"), ("/1", "[1,2]", "2"), ("/2", "[1,2]", nil), ("/-", "[1,2]", nil),
      ("/00", "[1,2]", nil), ("/01", "[1,2]", nil), ("/-1", "[1,2]", nil), ("/+1", "[1,2]", nil),
      ("/1.0", "[1,2]", nil), ("/1e0", "[1,2]", nil), ("/0", #"{"0":1}"#, "1"), ("/-", #"{"-":1}"#, "1"),
      ("/00", #"{"00":1}"#, "1"), ("/99999999999999999999999", "[1,2]", nil), ("/\u{661}", "[1,2]", nil),
      ("/a~1b", #"{"a/b":1}"#, "1"), ("/a~0b", #"{"a~b":1}"#, "1"), ("/~01", #"{"~1":1,"/":2}"#, "1"),
      ("/~10", #"{"/0":1}"#, "1"), ("/a%20b", #"{"a b":1}"#, nil), ("/\u{e9}", #"{"\u00e9":1}"#, "1"),
      ("/\u{e9}", "{\"e\u{301}\":1}", nil), ("/a", #"{"\u0061":1}"#, "1"), ("/a", #"{"a":1,"a":2}"#, "2"),
      ("/a/b", #"{"a":{"b":1},"a":{"b":2,"b":3}}"#, "3"), ("/a/b", #"{"a":{"b":1},"a":{}}"#, nil),
      ("/a/b", #"{"a":{"b":1},"a":7}"#, nil), ("/n/0", #"{"n":[{"a":1.0}]}"#, #"{"a":1.0}"#),
      ("/n/0/a", #"{"n":[{"a":1.0}]}"#, "1.0"), ("/a ", #"{"a":1}"#, nil),
    ] as [(String, String, String?)]
  )
  func `a pointer names a value`(_ pointer: String, _ document: String, _ expected: String?) throws {
    let pointer = try #require(OraclePointer(bytes(pointer)))
    #expect(pointer.value(in: try OracleJSON.parse(bytes(document))).map { text($0.minified) } == expected)
  }

  @Test(arguments: ["a", " ", " /a", "a/", "/~", "/~2", "/a~/b", "/~~0", "/a/b~", "#/a", "~0"])
  func `other texts are no pointers`(_ text: String) {
    #expect(OraclePointer(bytes(text)) == nil)
  }

  @Test func `a pointer has at most 255 bytes`() {
    for (text, isPointer) in [
      ("/" + String(repeating: "x", count: 254), true), ("/" + String(repeating: "x", count: 255), false),
      ("/" + String(repeating: "é", count: 127), true), ("/" + String(repeating: "é", count: 128), false),
      // Escapes of the pointer itself count as they are.
      (String(repeating: "/~0", count: 85), true), (String(repeating: "/~0", count: 85) + "/", false),
    ] {
      #expect((OraclePointer(bytes(text)) != nil) == isPointer, "\(text)")
    }
  }

  // MARK: - Form

  @Test(
    arguments: [
      (#" [ { "by" : "/a" } ] "#, #"[{"by":"/a"}]"#), (#"[{"by":""}]"#, #"[{"by":""}]"#),
      (#"[{"direction":"ascending","by":"/a"}]"#, #"[{"by":"/a"}]"#),
      (#"[{"direction":"descending","by":"/a"}]"#, #"[{"by":"/a","direction":"descending"}]"#),
      (#"[{"by":"/a","direction":"\u0064escending"}]"#, #"[{"by":"/a","direction":"descending"}]"#),
      (#"[{"\u0062y":"\/a\u0062\u00e9"}]"#, #"[{"by":"/abé"}]"#),
      (#"[{"by":"/\"\\\u0001\u000A\u007f"}]"#, "[{\"by\":\"/\\\"\\\\\\u0001\\n\u{7f}\"}]"),
      (#"[{"by":"/a~1b~0"}]"#, #"[{"by":"/a~1b~0"}]"#),
      (#"[{"by":"/x","other":[],"by":"/a"}]"#, #"[{"by":"/a"}]"#),
      (#"[{"by":5,"by":"/a"}]"#, #"[{"by":"/a"}]"#),
      (#"[{"by":"/a","direction":5,"direction":"ascending"}]"#, #"[{"by":"/a"}]"#),
      (
        #"[{"by":"/a"},{"by":"/a"},{"by":"/b"},{"by":"/c"}]"#,
        #"[{"by":"/a"},{"by":"/a"},{"by":"/b"},{"by":"/c"}]"#
      ),
    ]
  )
  func `an order has a canonical spelling`(_ order: String, _ canonical: String) throws {
    let order = try #require(OracleSectionOrder(OracleJSON.parse(bytes(order))))
    #expect(text(order.canonical) == canonical)
    #expect(try OracleSectionOrder(OracleJSON.parse(order.canonical)) == order)
  }

  @Test(
    arguments: [
      ("order", "[]"), ("order", "{}"), ("order", "5"), ("order", "true"), ("order", #""/a""#),
      ("order", "[null]"), ("order", #"["/a"]"#), ("order", "[{}]"), ("order", #"{"by":"/a"}"#),
      ("order", #"[{"by":"/a"},{"by":"/a"},{"by":"/a"},{"by":"/a"},{"by":"/a"}]"#),
      ("order", #"[{"by":null}]"#), ("order", #"[{"by":5}]"#), ("order", #"[{"by":"a"}]"#),
      ("order", #"[{"by":"/~"}]"#), ("order", #"[{"by":"/a"},{"by":"/~2"}]"#),
      ("order", #"[{"by":"/a","by":5}]"#), ("order", #"[{"by":"/a","direction":null}]"#),
      ("order", #"[{"by":"/a","direction":"Ascending"}]"#), ("order", #"[{"by":"/a","direction":1}]"#),
      ("keep", "0"), ("keep", "-0"), ("keep", "-1"), ("keep", "1.5"), ("keep", "1.0"), ("keep", "1e3"),
      ("keep", "2147483648"), ("keep", "99999999999999999999999999"), ("keep", #""5""#), ("keep", "true"),
      ("keep", "[]"), ("keep", "{}"),
    ]
  )
  func `other forms are invalid fields`(_ field: String, _ value: String) {
    for (event, name) in [
      (#"{"op":"section.upsert","section":"s","\#(field)":\#(value)}"#, field),
      (#"{"op":"section.replace","section":"s","items":[],"\#(field)":\#(value)}"#, field),
      (#"{"op":"feed.replace","sections":[{"id":"s","\#(field)":\#(value)}]}"#, "sections.\(field)"),
    ] {
      var one = OneFeed()
      #expect(one.apply(event) == .rejected(OracleRejection(.invalidField, field: name)), "\(event)")
    }
  }

  @Test(
    arguments: [
      // Of repeated fields the last counts; other operations' fields do not count.
      (#"{"op":"section.upsert","section":"s","order":5,"order":null,"keep":0,"keep":2147483647}"#, nil),
      (#"{"op":"section.move","section":"s","at":"last","order":5,"keep":0}"#, nil),
      (#"{"op":"item.upsert","item":"a","order":5,"keep":0}"#, nil),
      (#"{"op":"feed.clear","order":5,"keep":0}"#, nil),
      // The order of the checks.
      (#"{"op":"section.upsert","section":"s","at":0,"keep":0,"order":0}"#, "order"),
      (#"{"op":"section.upsert","section":"s","at":0,"keep":0}"#, "keep"),
      (#"{"op":"section.upsert","section":"","order":0}"#, "section"),
      (#"{"op":"section.replace","section":"s","order":0,"items":0}"#, "items"),
      (#"{"op":"feed.replace","sections":[{"keep":0,"order":0,"id":"","items":0}]}"#, "id"),
      (#"{"op":"feed.replace","sections":[{"keep":0,"order":0,"id":"s","items":0}]}"#, "sections.order"),
      (#"{"op":"feed.replace","sections":[{"keep":0,"id":"s","items":0}]}"#, "sections.keep"),
      (#"{"op":"feed.replace","sections":[{"keep":1,"id":"s","items":0}]}"#, "items"),
    ] as [(String, String?)]
  )
  func `the fields are checked in turn`(_ event: String, _ field: String?) {
    var one = OneFeed()
    one.apply(#"{"op":"section.replace","section":"s","items":["a"]}"#)
    let outcome = one.apply(event)
    #expect(
      outcome == field.map { .rejected(OracleRejection(.invalidField, field: $0)) } ?? .applied(noOps: [])
    )
  }

  // MARK: - Order

  /// Section x is ordered by its items' data, y is not.
  private static let start = """
    {"op":"feed.replace","sections":[{"id":"x","order":[{"by":""}],"items":[{"id":"b","data":2},{"id":"d","data":4},
    {"id":"c","data":3},{"id":"a","data":1}]},{"id":"y","items":[{"id":"f","data":2.5},{"id":"e","data":0}]}]}
    """

  @Test(
    arguments: [
      ("[]", "x: a b c d | y: f e"),
      (#"{"op":"item.upsert","item":"n","section":"x","data":2.5}"#, "x: a b n c d | y: f e"),
      (#"{"op":"item.upsert","item":"n","section":"x"}"#, "x: a b c d n | y: f e"),
      (#"{"op":"item.upsert","item":"a","data":9}"#, "x: b c d a | y: f e"),
      (#"{"op":"item.upsert","item":"a","kind":"k"}"#, "x: a b c d | y: f e"),
      (#"{"op":"item.upsert","item":"b","data":2.9}"#, "x: a b c d | y: f e"),
      (#"{"op":"item.patch","item":"d","data":1.5}"#, "x: a d b c | y: f e"),
      (#"{"op":"item.patch","item":"a","data":{"s":1}}"#, "x: b c d a | y: f e"),
      (#"{"op":"item.move","item":"a"}"#, "x: a b c d | y: f e"),
      (#"{"op":"item.move","item":"a","section":"x"}"#, "x: a b c d | y: f e"),
      (#"{"op":"item.move","item":"f","section":"x"}"#, "x: a b f c d | y: e"),
      (#"{"op":"item.upsert","item":"f","section":"x"}"#, "x: a b f c d | y: e"),
      (#"{"op":"item.upsert","item":"f","section":"x","data":0}"#, "x: f a b c d | y: e"),
      (#"{"op":"item.move","item":"d","section":"y"}"#, "x: a b c | y: f e d"),
      (#"{"op":"item.move","item":"d","section":"y","at":"first"}"#, "x: a b c | y: d f e"),
      (#"{"op":"item.upsert","item":"n","section":"w","at":"first"}"#, "x: a b c d | y: f e | w: n"),
      (#"{"op":"section.replace","section":"x","items":["d","f","a"]}"#, "x: a f d | y: e"),
      (#"{"op":"section.replace","section":"x","items":["d","a"],"order":null}"#, "x: d a | y: f e"),
      (
        #"{"op":"section.replace","section":"y","items":["f","e","c"],"order":[{"by":""}]}"#,
        "x: a b d | y: e f c"
      ),
      (#"{"op":"section.replace","section":"x","items":["d","a"],"at":"last"}"#, "y: f e | x: a d"),
      (#"{"op":"feed.replace","sections":[{"id":"x","items":["d","a","e"]}]}"#, "x: e a d"),
      (#"{"op":"feed.replace","sections":[{"id":"x","order":null,"items":["d","a","e"]}]}"#, "x: d a e"),
      (#"{"op":"section.upsert","section":"x","order":null}"#, "x: a b c d | y: f e"),
      (#"{"op":"section.upsert","section":"x","order":[{"by":"/s"}]}"#, "x: a b c d | y: f e"),
      (
        #"{"op":"section.upsert","section":"x","order":[{"by":"","direction":"descending"}],"at":"last"}"#,
        "y: f e | x: d c b a"
      ),
      (#"{"op":"section.upsert","section":"y","order":[{"by":""}]}"#, "x: a b c d | y: e f"),
      // The order is forgotten with the section.
      (
        #"[{"op":"section.delete","section":"x"},{"op":"section.replace","section":"x","items":[{"id":"b","data":2},{"id":"a","data":1}]}]"#,
        "y: f e | x: b a"
      ),
      (
        #"[{"op":"feed.clear"},{"op":"section.replace","section":"x","items":[{"id":"b","data":2},{"id":"a","data":1}]}]"#,
        "x: b a"
      ),
      (
        #"[{"op":"feed.delete"},{"op":"feed.replace","sections":[{"id":"x","items":[{"id":"b","data":2},{"id":"a","data":1}]}]}]"#,
        "x: b a"
      ),
      (
        #"[{"op":"feed.replace","sections":[]},{"op":"feed.replace","sections":[{"id":"x","items":[{"id":"b","data":2},{"id":"a","data":1}]}]}]"#,
        "x: b a"
      ),
      // After null, places are manual, and stay until there is an order again.
      (
        #"[{"op":"section.upsert","section":"x","order":null},{"op":"item.move","item":"a","at":"last"}]"#,
        "x: b c d a | y: f e"
      ),
      (
        #"[{"op":"section.upsert","section":"x","order":null},{"op":"item.upsert","item":"a","data":9}]"#,
        "x: a b c d | y: f e"
      ),
      (
        #"[{"op":"section.upsert","section":"x","order":null},{"op":"item.move","item":"a","at":"last"},{"op":"section.upsert","section":"x","order":[{"by":""}]}]"#,
        "x: a b c d | y: f e"
      ),
      // Each event sees the order that the one before has left.
      (
        #"[{"op":"item.patch","item":"a","data":9},{"op":"section.upsert","section":"x","order":null},{"op":"item.move","item":"c","at":{"after":"a"}}]"#,
        "x: b d a c | y: f e"
      ),
    ]
  )
  func `items stand in the order of their section`(_ value: String, _ result: String) {
    var one = OneFeed()
    one.apply(Self.start)
    #expect(one.apply(value) == .applied(noOps: []))
    #expect(one.outlined == result)
    #expect(one.current?.disorder == nil)
  }

  @Test(
    arguments: [
      (#"{"op":"item.upsert","item":"n","section":"x","at":"first"}"#, .orderedSection),
      (#"{"op":"item.upsert","item":"a","at":{"index":0}}"#, .orderedSection),
      (#"{"op":"item.upsert","item":"a","section":"x","at":{"after":"a"}}"#, .orderedSection),
      (#"{"op":"item.upsert","item":"e","section":"x","at":{"before":"none"}}"#, .orderedSection),
      (#"{"op":"item.move","item":"a","at":"last"}"#, .orderedSection),
      (#"{"op":"item.move","item":"e","section":"x","at":"last"}"#, .orderedSection),
      (#"{"op":"item.move","item":"a","at":{"after":"none"}}"#, .orderedSection),
      (#"{"op":"item.move","item":"a","at":{}}"#, .invalidField),
      (#"{"op":"item.upsert","item":"n","at":"first"}"#, .unknownSection),
      (#"{"op":"item.upsert","item":"e","at":{"after":"none"}}"#, .unknownAnchor),
      (#"{"op":"item.move","item":"n","section":"x","at":"first"}"#, nil),
      (#"{"op":"item.move","item":"a","section":"y","at":"first"}"#, nil),
      (#"{"op":"item.move","item":"a","section":"w","at":"first"}"#, nil),
      (#"{"op":"item.delete","item":"a","at":"first"}"#, nil),
      (#"{"op":"section.move","section":"x","at":"last"}"#, nil),
      (
        #"[{"op":"section.upsert","section":"x","order":null},{"op":"item.move","item":"a","at":"last"}]"#,
        nil
      ),
      (
        #"[{"op":"section.upsert","section":"y","order":[{"by":""}]},{"op":"item.move","item":"e","at":"last"}]"#,
        .orderedSection
      ),
      (
        #"[{"op":"section.upsert","section":"w","keep":3},{"op":"item.move","item":"e","section":"w","at":"last"}]"#,
        nil
      ),
    ] as [(String, OracleRejectCode?)]
  )
  func `an item has no place of its own in an ordered section`(_ value: String, _ code: OracleRejectCode?) {
    var one = OneFeed()
    one.apply(Self.start)
    #expect(one.code(value) == code)
  }

  @Test func `an order that stays the same changes nothing`() {
    var one = OneFeed()
    one.apply(Self.start)
    _ = one.flush()
    one.apply(
      #"{"op":"section.upsert","section":"x","keep":null,"order":[{"direction":"ascending","x":0,"by":"\u002f","by":""}]}"#
    )
    one.apply(#"{"op":"section.upsert","section":"y","order":null}"#)
    #expect(one.flush() == nil)
    one.apply(#"{"op":"section.upsert","section":"x","order":[{"by":""},{"by":"/a"}]}"#)
    #expect(one.flush() != nil)
  }

  @Test func `few moves are listed`() {
    var one = OneFeed()
    one.apply(Self.start)
    _ = one.flush()
    // An item that belongs elsewhere was moved alone.
    one.apply(#"{"op":"item.patch","item":"a","data":9}"#)
    one.apply(#"{"op":"item.upsert","item":"b","data":2.1}"#)
    let single = one.flush()?.placements
    #expect(single?.items == [bytes("a")] && single?.replacedLists == [])
    // An order gives the whole list.
    one.apply(#"{"op":"section.upsert","section":"x","order":[{"by":"","direction":"descending"}]}"#)
    let whole = one.flush()?.placements
    #expect(whole?.items == [] && whole?.replacedLists == [bytes("x")])
  }

  // MARK: - Bounds

  @Test(
    arguments: [
      (#"{"op":"section.upsert","section":"x","keep":2}"#, "x: a b | y: f e", 2),
      (#"{"op":"section.upsert","section":"x","keep":4}"#, "x: a b c d | y: f e", 0),
      (#"{"op":"section.upsert","section":"x","keep":2147483647}"#, "x: a b c d | y: f e", 0),
      (#"{"op":"section.upsert","section":"y","keep":1}"#, "x: a b c d | y: f", 1),
      (
        #"[{"op":"section.upsert","section":"x","keep":1},{"op":"section.upsert","section":"y","keep":1}]"#,
        "x: a | y: f", 4
      ),
      // The last event decides.
      (
        #"[{"op":"section.upsert","section":"x","keep":1},{"op":"section.upsert","section":"x","keep":null}]"#,
        "x: a b c d | y: f e", 0
      ),
      (
        #"[{"op":"section.upsert","section":"x","keep":2},{"op":"item.move","item":"d","section":"y"}]"#,
        "x: a b | y: f e d", 1
      ),
      (
        #"[{"op":"section.upsert","section":"x","keep":2},{"op":"item.patch","item":"d","data":0}]"#,
        "x: d a | y: f e", 2
      ),
      (
        #"[{"op":"section.upsert","section":"x","keep":2},{"op":"section.upsert","section":"x","order":[{"by":"","direction":"descending"}]}]"#,
        "x: d c | y: f e", 2
      ),
      (
        #"[{"op":"section.upsert","section":"x","keep":3},{"op":"item.delete","item":"a"},{"op":"item.delete","item":"d"}]"#,
        "x: b c | y: f e", 0
      ),
      (#"{"op":"section.replace","section":"x","items":["d","c","b","a"],"keep":3}"#, "x: a b c | y: f e", 1),
      (#"{"op":"section.replace","section":"y","items":["f","a","e"],"keep":2}"#, "x: b c d | y: f a", 1),
      (
        #"{"op":"feed.replace","sections":[{"id":"y","keep":1,"items":["d","a"]},{"id":"x"}]}"#, "y: d | x:",
        1
      ),
      (
        #"[{"op":"section.upsert","section":"x","keep":2},{"op":"section.delete","section":"x"}]"#, "y: f e",
        0
      ),
    ]
  )
  func `items beyond the bound are deleted after the record`(_ value: String, _ result: String, _ cut: Int) {
    var one = OneFeed()
    one.apply(Self.start)
    #expect(one.apply(value) == .applied(noOps: [], cut: cut))
    #expect(one.outlined == result)
  }

  @Test func `a bound stays with its section`() {
    var one = OneFeed()
    one.apply(#"{"op":"section.replace","section":"s","items":["a","b","c"],"keep":2}"#)
    #expect(one.outlined == "s: a b")
    #expect(one.apply(#"{"op":"item.upsert","item":"d","section":"s"}"#) == .applied(noOps: [], cut: 1))
    #expect(one.apply(#"{"op":"item.move","item":"b","at":"first"}"#) == .applied(noOps: []))
    let first = #"{"op":"item.upsert","item":"d","section":"s","at":"first"}"#
    #expect(one.apply(first) == .applied(noOps: [], cut: 1))
    #expect(one.outlined == "s: d b")
    one.apply(#"{"op":"feed.replace","sections":[{"id":"s","items":["x","y","z"]},{"id":"t"}]}"#)
    #expect(one.outlined == "s: x y | t:")
    one.apply(#"{"op":"section.replace","section":"s","items":["x","y","z"]}"#)
    #expect(one.outlined == "s: x y | t:")
    one.apply(#"{"op":"section.replace","section":"s","items":["x","y","z"],"keep":null}"#)
    #expect(one.outlined == "s: x y z | t:")
    one.apply(#"{"op":"section.upsert","section":"s","keep":1}"#)
    one.apply(
      #"[{"op":"section.delete","section":"s"},{"op":"section.replace","section":"s","items":["x","y"]}]"#
    )
    #expect(one.outlined == "t: | s: x y")
  }

  @Test func `what is cut is deleted`() {
    var one = OneFeed()
    one.apply(#"{"op":"section.replace","section":"s","items":["a","b","c"]}"#)
    _ = one.flush()
    one.apply(#"[{"op":"item.reload","item":"c"},{"op":"item.reconfigure","item":"a"}]"#)
    one.apply(#"{"op":"section.upsert","section":"s","keep":2}"#)
    one.apply(
      #"[{"op":"section.upsert","section":"s","keep":null},{"op":"item.upsert","item":"c","section":"s"}]"#
    )
    let change = one.flush()
    #expect(change?.forced.itemReloads == [] && change?.forced.itemReconfigures == [bytes("a")])
    #expect(change?.placements.items == [bytes("c")])
    #expect(change?.after?.outline == "s: a b c")
    // A later event of the same record still sees it.
    let events = #"""
      [{"op":"section.upsert","section":"s","keep":1},{"op":"item.patch","item":"c","data":1},
      {"op":"item.reload","item":"c"},{"op":"item.move","item":"a","at":{"after":"c"}}]
      """#
    #expect(one.apply(events) == .applied(noOps: [], cut: 2))
    #expect(one.outlined == "s: b")
    #expect(one.apply(#"{"op":"item.patch","item":"c","data":1}"#) == .applied(noOps: [.unknownItem]))
    #expect(one.flush()?.forced.isEmpty == true)
  }

  @Test func `limits count what is left`() {
    var limits = Limits()
    limits.maxItems = 3
    var one = OneFeed(Oracle(limits: limits))
    one.apply(#"{"op":"section.replace","section":"s","items":["a","b"],"keep":2}"#)
    one.apply(#"{"op":"item.upsert","item":"x","section":"t"}"#)
    #expect(one.code(#"{"op":"item.upsert","item":"y","section":"t"}"#) == .limitExceeded)
    #expect(one.code(#"{"op":"item.upsert","item":"c","section":"s"}"#) == nil)
    // A list may have as many as the limit, if what its section keeps is not too much.
    #expect(one.code(#"{"op":"section.replace","section":"s","items":["p","q","r"]}"#) == nil)
    #expect(one.outlined == "s: p q | t: x")
    let unbounded = #"[{"op":"section.replace","section":"s","items":["p","q","r"],"keep":null}"#
    #expect(one.code(unbounded + "]") == .limitExceeded)
    #expect(one.code(unbounded + #",{"op":"section.upsert","section":"s","keep":1}]"#) == .limitExceeded)
    // It is not longer than the limit, however small the bound.
    #expect(one.code(#"{"op":"section.replace","section":"s","items":["p","q","r","s"]}"#) == .limitExceeded)
    #expect(
      one.code(#"{"op":"feed.replace","sections":[{"id":"s","keep":1,"items":["p","q","r","s"]}]}"#)
        == .limitExceeded
    )
    // The items of other sections count, beyond their bounds, too, as long as the record lasts.
    let events = #"""
      [{"op":"section.upsert","section":"t","keep":1},{"op":"item.upsert","item":"y","section":"t"},
      {"op":"section.replace","section":"s","items":["p","q"]}]
      """#
    #expect(one.code(events) == .limitExceeded)
  }

  @Test func `bytes of state count what is left`() {
    var one = OneFeed()
    one.apply(
      #"{"op":"section.upsert","section":"s","order":[{"by":"/a","direction":"ascending"}],"keep":12}"#
    )
    let text = #"{"id":"s","data":null,"order":[{"by":"/a"}],"keep":12}"#
    #expect(one.current?.stateBytes == 1024 + 256 + text.utf8.count)
    var limits = Limits()
    limits.maxStateBytes = 1024 + 256 + 3 * 128 + 200
    one = OneFeed(Oracle(limits: limits))
    let long = String(repeating: "x", count: 60)
    let items = ["a", "b", "c"].map { #"{"id":"\#($0)","data":"\#(long)"}"# }.joined(separator: ",")
    #expect(one.code(#"{"op":"section.replace","section":"s","items":[\#(items)]}"#) == .limitExceeded)
    #expect(
      one.code(#"{"op":"section.replace","section":"s","items":[\#(items)],"keep":3}"#) == .limitExceeded
    )
    #expect(
      one.code(#"{"op":"feed.replace","sections":[{"id":"s","items":[\#(items)],"keep":3}]}"#)
        == .limitExceeded
    )
    #expect(one.code(#"{"op":"section.replace","section":"s","items":[\#(items)],"keep":1}"#) == nil)
    #expect(one.outlined == "s: a")
    #expect(one.code(#"{"op":"feed.replace","sections":[{"id":"s","items":[\#(items)],"keep":1}]}"#) == nil)
    // Without items beyond the bound, the bytes are looked at before the record's later events.
    let deleted = #"{"op":"item.delete","item":"b"},{"op":"item.delete","item":"c"}"#
    let listed = #"{"op":"section.replace","section":"s","items":[\#(items)],"keep":"#
    #expect(one.code("[\(listed)3},\(deleted)]") == .limitExceeded)
    #expect(one.code("[\(listed)2},\(deleted)]") == nil)
  }

  // MARK: - Changesets

  @Test func `changesets have order and bound after the data`() throws {
    let order = #"[{"by":"/score","direction":"descending"},{"by":"/na\"me"}]"#
    let canonical = #""order":[{"by":"/score","direction":"descending"},{"by":"/na\"me"}]"#
    let event = #"{"op":"section.upsert","section":"top","#
    let end = #","data":null,"#
    var one = OneFeed()
    var judge = ChangesetJudge()
    var replica: OracleFeed?
    for (value, expected) in [
      (
        #"{"op":"section.replace","section":"top","items":["a"],"keep":100,"order":\#(order)}"#,
        #""sections":[{"id":"top"\#(end)\#(canonical),"keep":100,"items":[{"id":"a","kind":"","data":null}]}]"#
      ),
      (event + #""order":null}"#, #""sections":{"reconfigure":[{"id":"top","index":0\#(end)"keep":100}]}"#),
      (event + #""keep":null}"#, #""sections":{"reconfigure":[{"id":"top","index":0,"data":null}]}"#),
      (
        event + #""order":\#(order)}"#,
        #""sections":{"reconfigure":[{"id":"top","index":0\#(end)\#(canonical)}]}"#
      ),
      (
        #"[\#(event)"keep":7},{"op":"section.reload","section":"top"}]"#,
        #""sections":{"reload":[{"id":"top","index":0\#(end)\#(canonical),"keep":7}]}"#
      ),
      (
        event.replacing("top", with: "new") + #""at":"first","keep":3,"order":[{"by":""}]}"#,
        #""sections":{"insert":[{"id":"new","index":0\#(end)"order":[{"by":""}],"keep":3}]}"#
      ),
      (#"{"op":"section.delete","section":"new"}"#, #""sections":{"delete":[{"id":"new","index":0}]}"#),
    ] {
      one.apply(value)
      let record = try #require(judge.expectedRecords(one.oracle.flush()).first?.value)
      #expect(text(record).hasSuffix(expected + "}"), "\(text(record))")
      replica = try NaiveReplica.apply([OracleJSON.parse(record)], to: replica)
      #expect(replica == one.current)
    }
  }

  @Test func `the rest of a section has neither order nor bound`() throws {
    var output = OutputOptions()
    output.maxMessageBytes = 330
    var judge = ChangesetJudge(output: output)
    var one = OneFeed()
    let items = (0..<9).map { "\"item \($0)\"" }.joined(separator: ",")
    one.apply(#"{"op":"section.replace","section":"s","order":[{"by":""}],"keep":9,"items":[\#(items)]}"#)
    let values = judge.expectedRecords(one.oracle.flush()).compactMap(\.value)
    let heads = try values.map { try #require(OracleJSON.parse($0).last("sections")?.elements?.first) }
    #expect(heads.count > 1)
    #expect(heads.map { $0.last("order") != nil && $0.last("keep") != nil } == heads.indices.map { $0 == 0 })
    #expect(heads.map { $0.last("order") == nil && $0.last("data") == nil } == heads.indices.map { $0 > 0 })
    #expect(try NaiveReplica.apply(values.map { try OracleJSON.parse($0) }, to: nil) == one.current)
  }

  @Test func `the judge refuses revisions that are out of order or bounds`() throws {
    var feed = feed("s: b a | t: c d")
    #expect(feed.disorder == nil)
    feed.sections[0].order = OracleSectionOrder(try OracleJSON.parse(bytes(#"[{"by":""}]"#)))
    #expect(feed.disorder != nil)
    feed.sections[0].items.reverse()
    #expect(feed.disorder == nil)
    feed.sections[1].keep = 1
    #expect(feed.disorder != nil)
    let key = OracleFeedKey(partition: 0, id: bytes("f"))
    let change = OracleChange(
      key: key,
      epoch: "t:0/0",
      revision: 1,
      base: 0,
      time: 0,
      through: ["t": 0],
      before: nil,
      after: feed
    )
    var judge = ChangesetJudge()
    var writer = judge
    let flush = OracleFlush(changes: [change])
    let records = writer.expectedRecords(flush)
    #expect(throws: JudgeFailure.self) { try judge.judge(flush, records) }
  }

  @Test(arguments: [#""order":null"#, #""order":[]"#, #""keep":0"#, #""keep":"5""#, #""order":[{"by":"a"}]"#])
  func `a follower takes other forms as none`(_ field: String) {
    let head = #"{"feed":"f","epoch":"t:0/0","revision":1,"base":0,"mode":"reload","reason":"initial","#
    let rest =
      #""time":"2026-11-20T10:00:00.250Z","through":{"t":0},"checksum":"\#(OracleChecksum.text(OracleChecksum.of(feed("s:"))))","sections":[{"id":"s","data":null"#
    for value in [head + rest + "}]}", head + rest + "," + field + "}]}"] {
      var follower = OracleFollower()
      let outcome = follower.take(partition: 0, key: bytes("k0/f"), value: bytes(value))
      #expect(!outcome.isRefused, "\(value)")
      #expect(follower.replicas.values.first?.state == feed("s:"), "\(value)")
    }
  }
}

extension OneFeed {
  /// The code with which a value is rejected; nil if it is accepted.
  fileprivate mutating func code(_ value: String) -> OracleRejectCode? {
    if case .rejected(let rejection) = apply(value) { rejection.code } else { nil }
  }
}
