import Feed
import Oracle
import Testing

struct OracleRejectionTests {
  @Test(
    arguments: [
      ("", .invalidJSON), ("nonsense", .invalidJSON), ("null", .invalidField),
      ("\"feed.clear\"", .invalidField),
      ("[5]", .invalidField), ("[null]", .invalidField), ("{}", .missingField), (#"{"op":5}"#, .invalidField),
      (#"{"op":"x"}"#, .unknownOp), (#"{"op":"x","op":"feed.clear"}"#, nil), ("[]", nil),
      (#"{"op":"item.delete"}"#, .missingField), (#"{"op":"item.delete","item":""}"#, .invalidField),
      (#"{"op":"item.delete","item":null}"#, .invalidField),
      (#"{"op":"item.delete","item":"a","at":7}"#, nil),
      (#"{"op":"item.upsert","item":"new"}"#, .unknownSection),
      (#"{"\u006fp":"item.delete","item":"a"}"#, nil),
      (#"{"op":"item.upsert","item":"new","section":"s","kind":null}"#, .invalidField),
      (#"{"op":"item.upsert","item":"new","section":"s","data":null}"#, nil),
      (#"{"op":"item.upsert","item":"a","at":{"before":"a"}}"#, .unknownAnchor),
      (#"{"op":"item.upsert","item":"a","at":{"before":"none"}}"#, .unknownAnchor),
      (#"{"op":"item.upsert","item":"a","at":{"before":"b","after":"b"}}"#, .invalidField),
      (#"{"op":"item.move","item":"none","at":{"before":"none"}}"#, nil),
      (#"{"op":"item.move","item":"none","at":{"index":-0}}"#, .invalidField),
      (#"{"op":"item.move","item":"a","at":{"index":1.0}}"#, .invalidField),
      (#"{"op":"item.move","item":"a","at":{"index":1e2}}"#, .invalidField),
      (#"{"op":"item.move","item":"a","at":{"index":99999999999999999999999}}"#, nil),
      (#"{"op":"section.move","section":"today"}"#, .missingField),
      (#"{"op":"section.move","at":7}"#, .missingField),
      (#"{"op":"section.move","section":"today","at":{"after":"today"}}"#, .unknownAnchor),
      (#"{"op":"section.replace","section":"today","items":["a","\u0061"]}"#, .duplicateID),
      (#"{"op":"section.replace","section":"today","items":[{"id":"a","kind":5},"a"]}"#, .invalidField),
      (#"{"op":"section.replace","section":"today","items":["a","a",5]}"#, .duplicateID),
      (#"{"op":"feed.replace","sections":["a"]}"#, .invalidField),
      (#"{"op":"feed.replace","sections":[{"id":"a"},{"id":"a"}]}"#, .duplicateID),
      (
        #"{"op":"feed.replace","sections":[{"id":"s","items":["x"]},{"id":"t","items":["x"]}]}"#, .duplicateID
      ),
      // The form of all events is checked before any is applied.
      (#"[{"op":"item.upsert","item":"new"},{"op":"x"}]"#, .unknownOp),
      (
        #"[{"op":"item.upsert","item":"new"},{"op":"item.move","item":"a","at":{"after":"z"}}]"#,
        .unknownSection
      ),
    ] as [(String, OracleRejectCode?)]
  )
  func `the codes are those of the table`(_ value: String, _ code: OracleRejectCode?) {
    var one = OneFeed()
    one.apply(#"{"op":"section.replace","section":"today","items":["a","b"]}"#)
    #expect(one.code(value) == code)
  }

  @Test func `the key is checked first`() {
    var limits = Limits()
    limits.maxRecordBytes = 400
    var oracle = Oracle(limits: limits)
    func code(_ key: [UInt8]?, _ value: [UInt8]?) -> OracleRejectCode? {
      let record = OracleRecord(offset: 0, key: key, value: value)
      if case .rejected(let rejection) = oracle.apply(record) { return rejection.code } else { return nil }
    }
    let long = [UInt8](repeating: 0x20, count: 500)
    #expect(code(nil, [0xFF]) == .missingKey)
    #expect(code([], nil) == .missingKey)
    #expect(code([0xFF], long) == .invalidUTF8)
    #expect(code(bytes("hn"), [0xFF] + long) == .invalidUTF8)
    #expect(code(bytes("hn"), long) == .limitExceeded)
    #expect(code([UInt8](repeating: 0x61, count: 256), bytes("x")) == .limitExceeded)
    #expect(code(bytes("hn"), bytes("x")) == .invalidJSON)
    #expect(code(bytes("hn"), nil) == nil)
  }

  @Test func `limits are enforced`() {
    var limits = Limits()
    limits.maxDataBytes = 9
    limits.maxItems = 2
    limits.maxSections = 1
    limits.maxEvents = 3
    limits.maxDepth = 3
    limits.maxIdBytes = 5
    var one = OneFeed(Oracle(limits: limits))
    #expect(one.code(#"{"op":"section.upsert","section":"s","data": [ 1, 2, 3, 4 ]}"#) == nil)
    #expect(one.code(#"{"op":"section.upsert","section":"s","data":[1,2,3,44]}"#) == .limitExceeded)
    #expect(one.code(#"{"op":"section.upsert","section":"s","data":[[[]]]}"#) == .limitExceeded)
    #expect(one.code(#"{"op":"section.upsert","section":"t"}"#) == .limitExceeded)
    #expect(one.code(#"{"op":"section.upsert","section":"\u0073\u0073sss"}"#) == .limitExceeded)
    #expect(one.code(#"{"op":"section.delete","section":"ssssss"}"#) == .limitExceeded)
    #expect(one.code(#"{"op":"item.upsert","item":"a","section":"s","kind":"123456"}"#) == .limitExceeded)
    #expect(one.code("[5,5,5,5]") == .limitExceeded)
    #expect(one.code(#"{"op":"section.replace","section":"s","items":["a","b","c"]}"#) == .limitExceeded)
    // Single events may exceed a limit temporarily, but a list may not.
    let listing =
      #"[{"op":"section.replace","section":"s","items":["a","b","c"]},{"op":"item.delete","item":"a"}]"#
    #expect(one.code(listing) == .limitExceeded)
    #expect(one.code(#"{"op":"section.replace","section":"s","items":["a","b"]}"#) == nil)
    let passing = #"[{"op":"item.upsert","item":"c","section":"s"},{"op":"item.delete","item":"a"}]"#
    #expect(one.code(passing) == nil)
    #expect(one.code(#"{"op":"item.patch","item":"b","data":{"a":111}}"#) == nil)
    #expect(one.code(#"{"op":"item.patch","item":"b","data":{"b":1}}"#) == .limitExceeded)
    #expect(one.outlined == "s: b c")
  }
}
