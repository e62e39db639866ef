/// Conditions of events.
extension RecordGenerator {
  /// A well-formed condition, which often holds.
  mutating func condition() -> String {
    var members: [(name: String, value: String)] = []
    if options.hasRevisions, random.chance(30) { members.append(("revision", String(random.below(12)))) }
    if options.hasRevisions, random.chance(4) {
      members.append(("epoch", speller.string("feeds.items:1760000000000/0")))
    }
    if random.chance(30) { members.append(("absent", speller.string(itemID()))) }
    if members.isEmpty || random.chance(30) {
      members.append(("item", speller.string(itemID())))
      if random.chance(70) { members.append(("data", expectedData())) }
    }
    if random.chance(5) { members.insert(members[0], at: 0) }
    return speller.object(members)
  }

  private mutating func expectedData() -> String {
    let pointers =
      options.hasOrders ? ["/score", "/score", "/name", "/n/0", "/a~1b"] : ["", "/a", "/b/0", "/c"]
    let values = (0..<1 + random.below(2)).map { _ in
      (name: random.pick(pointers), value: random.chance(40) ? "null" : scalar())
    }
    return speller.object(values)
  }

  private mutating func scalar() -> String {
    random.pick([
      "0", "1", "1.0", "-0e3", "2", "10e-1", "true", "false", "\"x\"", "\"\\u0078\"", "\"y\"", "10",
    ])
  }

  /// An event with a condition.
  mutating func conditional(_ condition: String) -> String {
    let event = event(.itemDelete)
    return event.dropLast() + ",\"if\":\(condition)}"
  }

  mutating func invalidCondition() -> String {
    let long = String(repeating: "x", count: 256)
    let many = (0..<17).map { "\"/\($0)\":\($0)" }.joined(separator: ",")
    return random.pick([
      "null", "7", "\"\"", "[]", "{}", "{ }", "[{\"revision\":1}]", "{\"unknown\":1}",
      "{\"revision\":1,\"Item\":\"a\"}",
      "{\"revision\":-1}", "{\"revision\":-0}", "{\"revision\":1.0}", "{\"revision\":1e2}",
      "{\"revision\":\"1\"}",
      "{\"revision\":null}", "{\"revision\":9007199254740992}", "{\"revision\":99999999999999999999999}",
      "{\"epoch\":\"\"}", "{\"epoch\":5}", "{\"absent\":\"\"}", "{\"absent\":null}", "{\"absent\":[\"a\"]}",
      "{\"item\":5}", "{\"item\":\"\(long)\"}", "{\"absent\":\"\(long)\"}", "{\"data\":{\"/a\":1}}",
      "{\"item\":\"a\",\"data\":{}}", "{\"item\":\"a\",\"data\":[]}", "{\"item\":\"a\",\"data\":null}",
      "{\"item\":\"a\",\"data\":{\"a\":1}}", "{\"item\":\"a\",\"data\":{\"/~2\":1}}",
      "{\"item\":\"a\",\"data\":{\"/\(long)\":1}}", "{\"item\":\"a\",\"data\":{\"/a\":[]}}",
      "{\"item\":\"a\",\"data\":{\"/a\":{}}}", "{\"item\":\"a\",\"data\":{\(many)}}",
    ])
  }
}
