/// Ordered sections, their bounds, and data to be ordered by.
extension RecordGenerator {
  /// The order of a section, or null.
  mutating func order() -> String { random.chance(20) ? "null" : orderKeys() }

  /// The order of a section.
  mutating func orderKeys() -> String {
    let pointers =
      options.hasContents
      ? ["/author/score", "/author/name", "/post/score", "/score"]
      : ["/score", "/score", "/score", "/name", "/n/0", ""]
    let oddPointers = [
      "/a~1b", "/~0", "/n/1", "/n/-", "/n/00", "/n", "/missing", "/", "/\u{e9}", "/\"\\\u{1}",
    ]
    let count = random.chance(60) ? 1 : 1 + random.below(4)
    let keys = (0..<count).map { _ in
      let pointer = random.pick(options.isPlain || random.chance(75) ? pointers : oddPointers)
      var members = [(name: "by", value: speller.string(pointer))]
      if random.chance(60) {
        let direction = random.pick(["ascending", "descending", "descending"])
        members.insert(("direction", speller.string(direction)), at: random.below(2))
      }
      if random.chance(5) { members.append(("unknown", speller.data(depth: 1))) }
      if random.chance(5) { members.insert(("by", "7"), at: 0) }
      return speller.object(members)
    }
    return speller.array(keys)
  }

  /// The bound of a section, or null: mostly so low that items exceed it.
  mutating func keep() -> String {
    if random.chance(25) { return "null" }
    return random.chance(80) ? String(1 + random.below(5)) : random.pick(["9", "100", "2147483647"])
  }

  /// Data with members that the orders' pointers name.
  mutating func orderedData() -> String {
    if random.chance(10) { return speller.data() }
    if random.chance(10) { return orderedValue() }
    var members: [(name: String, value: String)] = []
    for name in ["score", "name"] where random.chance(80) { members.append((name, orderedValue())) }
    if random.chance(40) {
      members.append(("n", speller.array((0..<random.below(3)).map { _ in orderedValue() })))
    }
    if random.chance(30) { members.append((options.isPlain ? "b" : "a/b", orderedValue())) }
    if random.chance(10) { members.append(("score", orderedValue())) }
    if !options.isPlain, random.chance(10) {
      members.append((random.pick(["~", "", "\u{e9}", "\"\\\u{1}"]), orderedValue()))
    }
    return speller.object(members)
  }

  /// A value to order by: of every type, and many that are equal but spelled differently.
  private mutating func orderedValue() -> String {
    let usual = [
      "0", "1", "2", "10", "-1", "3", "true", "false", "null", "\"x\"", "\"y\"", "\"10\"", "\"9\"",
    ]
    let equal = [
      "1", "1.0", "10e-1", "0.1e1", "100E-2", "0", "-0", "0e5", "-0.0", "0.00e99999999999", "2", "20e-1",
    ]
    let odd = [
      "1e400", "10E399", "-1e400", "1e-400", "-1e-400", "1e99999999999", "10e99999999998", "-1e99999999999",
      "1e-99999999999", "9007199254740993", "9007199254740992.0", "123456789012345678901234567890",
      "0.123456789012345678901234567890e30", "99.99999999999999999999", "100.00", "1E+2", "0.5", "-0.5",
      "\"\"", "\"\\u0078\"", "\"\\uffff\"", "\"\u{1F600}\"", "\"\\ud83d\\ude00\"", "\"\\u0000\"", "\"é\"",
      "\"e\u{301}\"", "\"\\/\"", "\"xy\"", "[]", "{}", "[1]", "{\"score\":1}",
    ]
    if options.isPlain { return random.pick(usual) }
    return random.pick(random.chance(40) ? usual : random.chance(50) ? equal : odd)
  }

  /// Two events, of which the second one places an item in a section that the first one orders.
  mutating func placementInOrder() -> [String] {
    let section = speller.string(sectionID())
    let item = speller.string(itemID())
    let place = random.pick(["\"first\"", "\"last\"", "{\"index\":1}", "{\"after\":\"nowhere\"}"])
    let keys = orderKeys()
    let here = "{\"op\":\"item.upsert\",\"item\":\(item),\"section\":\(section)"
    return random.pick([
      ["{\"op\":\"section.upsert\",\"section\":\(section),\"order\":\(keys)}", "\(here),\"at\":\(place)}"],
      [
        "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[\(item)],\"order\":\(keys),\"keep\":1}",
        "{\"op\":\"item.move\",\"item\":\(item),\"at\":\(place)}",
      ],
      [
        "{\"op\":\"feed.replace\",\"sections\":[{\"id\":\(section),\"order\":\(keys),\"items\":[\(item)]}]}",
        "{\"op\":\"item.upsert\",\"item\":\(item),\"at\":\(place)}",
      ],
    ])
  }

  /// An event whose `order` or `keep` has the wrong form.
  mutating func invalidOrder(_ section: String) -> String {
    let key = "{\"by\":\"/a\"}"
    let orders = [
      "[]", "{}", "5", "true", "\"/score\"", "[null]", "[\"/score\"]", "[[]]", "[{}]", "[\(key),{}]", key,
      "[\(key),\(key),\(key),\(key),\(key)]", "[{\"by\":null}]", "[{\"by\":5}]", "[{\"by\":\"score\"}]",
      "[{\"by\":\" /a\"}]", "[{\"by\":\"/~\"}]", "[{\"by\":\"/~2\"}]", "[{\"by\":\"/a~/b\"}]",
      "[{\"by\":\"/a\",\"by\":5}]", "[{\"by\":\"/\(String(repeating: "x", count: 255))\"}]",
      "[{\"by\":\"/\(String(repeating: "\\u00e9", count: 128))\"}]", "[{\"BY\":\"/a\"}]",
      "[{\"by\":\"/a\",\"direction\":null}]", "[{\"by\":\"/a\",\"direction\":\"up\"}]",
      "[{\"by\":\"/a\",\"direction\":\"Ascending\"}]", "[{\"by\":\"/a\",\"direction\":-1}]",
    ]
    let bounds = [
      "0", "-0", "-1", "1.5", "1.0", "1e3", "10E-1", "2147483648", "99999999999999999999999", "\"5\"", "true",
      "[]", "{}",
    ]
    let field =
      random.chance(60) ? "\"order\":\(random.pick(orders))" : "\"keep\":\(random.pick(bounds))"
    return random.pick([
      "{\"op\":\"section.upsert\",\"section\":\(section),\(field)}",
      "{\"op\":\"section.replace\",\"section\":\(section),\"items\":[],\(field)}",
      "{\"op\":\"feed.replace\",\"sections\":[{\"id\":\"z\",\(field)}]}",
      "{\"op\":\"feed.replace\",\"sections\":[{\"id\":\"y\"},{\(field),\"id\":\"z\",\"items\":5}]}",
    ])
  }
}
