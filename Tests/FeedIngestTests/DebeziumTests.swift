import Feed
import FeedIngest
import Foundation
import Oracle
import Testing

/// Change events as Debezium's connectors spell them by default.
@Suite struct DebeziumTests {
  private static let keyed = "format: \"debezium\", feed: \"f\", section: \"s\", item: \"{key/id}\", "

  private func data(_ map: Mapping, key: String = "{\"id\":1}", _ value: String) -> String {
    let (records, outcome) = map(key: key, value)
    return records.first?.firstRange(of: "\"data\":").map { String(records[0][$0.upperBound...].dropLast()) }
      ?? outcome
  }

  // MARK: Decimals

  private static func envelope(_ column: String, _ value: String) -> String {
    """
    {"schema":{"type":"struct","fields":[{"type":"struct","fields":[],"field":"before"},\
    {"type":"struct","fields":[{"type":"int32","field":"id"},\(column)],"field":"after"}],"name":"orders.Envelope"},\
    "payload":{"before":null,"after":{"id":1,"total":\(value)},"op":"c"}}
    """
  }

  private static let decimal =
    #"{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2","connect.decimal.precision":"10"},"field":"total"}"#

  @Test(arguments: [
    (decimal, "\"AJY=\"", "1.50"), (decimal, "\"BAg=\"", "10.32"), (decimal, "\"/w==\"", "-0.01"),
    (decimal, "\"AA==\"", "0.00"),
    (decimal, "null", "null"), (decimal, "\"gA==\"", "-1.28"),
    (decimal.replacing("\"2\"", with: "\"-2\""), "\"AA==\"", "0"),
    (decimal.replacing("\"2\"", with: "\"-2\""), "\"AQ==\"", "100"),
    (decimal, "\"DeC2s6dj//8=\"", "9999999999999999.99"),
    (
      #"{"type":"struct","fields":[{"type":"int32","field":"scale"},{"type":"bytes","field":"value"}],"name":"io.debezium.data.VariableScaleDecimal","field":"total"}"#,
      #"{"scale":3,"value":"AfQ="}"#, "0.500"
    ),
    (
      #"{"type":"array","items":{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"1"}},"field":"total"}"#,
      #"["Cg==",null,"Dw=="]"#, "[1.0,null,1.5]"
    ),
  ])
  func `the schema of an event says which bytes are decimals`(
    _ column: String,
    _ value: String,
    _ number: String
  ) throws {
    let event = Self.envelope(column, value)
    #expect(data(try Mapping(Self.keyed + "data: [\"total\"]"), event) == "{\"total\":\(number)}")
    #expect(data(try Mapping(Self.keyed), event) == "{\"id\":1,\"total\":\(number)}")
    #expect(data(try Mapping(Self.keyed + "data: \"/total\""), event) == number)
  }

  @Test func `a schema that changes is read again`() throws {
    let map = try Mapping(Self.keyed + "data: [\"total\"]")
    let other = Self.decimal.replacing("\"scale\":\"2\"", with: "\"scale\":\"0\"")
    for (column, number) in [(Self.decimal, "1.50"), (other, "150"), (Self.decimal, "1.50")] {
      #expect(data(map, Self.envelope(column, "\"AJY=\"")) == "{\"total\":\(number)}")
    }
    #expect(data(map, "{\"after\":{\"total\":\"AJY=\"},\"op\":\"c\"}") == "{\"total\":\"AJY=\"}")
  }

  @Test(arguments: [
    ("2", "\"AJY=\"", "1.50"), ("2", "1.5", "1.5"), ("2", "null", "null"), ("\"text\"", "\"9.50\"", "9.50"),
    ("\"text\"", "\"-007.5\"", "-7.5"), ("\"text\"", "\".5\"", "0.5"), ("\"text\"", "\"+1E+3\"", "1e3"),
    ("\"text\"", "\"NaN\"", "\"NaN\""), ("\"text\"", "\"1.5.\"", "\"1.5.\""), ("\"text\"", "\"\"", "\"\""),
    ("\"text\"", "\"-\"", "\"-\""),
    ("\"text\"", "\"1e\"", "\"1e\""), ("\"text\"", "\"00\"", "0"), ("\"text\"", "\"5.\"", "5"),
  ])
  func `without a schema the mapping says it`(_ form: String, _ value: String, _ number: String) throws {
    let event = "{\"after\":{\"total\":\(value),\"in\":{\"a\":[1],\"total\":\(value)}},\"op\":\"c\"}"
    let map = try Mapping(Self.keyed + "decimals: {\"/total\": \(form), \"/in/total\": \(form)}")
    #expect(data(map, event) == "{\"total\":\(number),\"in\":{\"a\":[1],\"total\":\(number)}}")
  }

  @Test func `the mapping adds to a schema`() throws {
    let map = try Mapping(Self.keyed + "decimals: {\"/id\": \"text\"}")
    let event = Self.envelope(Self.decimal, "\"AJY=\"").replacing("\"id\":1,", with: "\"id\":\"07\",")
    #expect(data(map, event) == "{\"id\":7,\"total\":1.50}")
  }

  @Test(arguments: ["\"J w==\"", "\"9.50\"", "\"\""])
  func `text that is not bytes in Base64 is unmappable`(_ value: String) throws {
    let map = try Mapping(Self.keyed + "decimals: {\"/total\": 2}")
    let text = data(map, "{\"after\":{\"total\":\(value)},\"op\":\"c\"}")
    #expect(text.hasPrefix("unmappable: the value at \"/total\" is not a decimal"), "\(text)")
  }

  @Test func `ids and conditions have the number`() throws {
    let map = try Mapping(
      "format: \"debezium\", feed: \"f-{/a}\", section: \"s\", item: \"{key/id}\", decimals: {\"/a\": 0}, where: {\"/a\": [7, 8]}"
    )
    #expect(map(key: "{\"id\":1}", "{\"after\":{\"a\":\"Bw==\"},\"op\":\"c\"}").records[0].hasPrefix("f-7 "))
    #expect(map(key: "{\"id\":1}", "{\"after\":{\"a\":\"CQ==\"},\"op\":\"c\"}").outcome == "filtered")
  }

  @Test func `random decimals of any length and scale are exact`() throws {
    var random = SplitMix64(seed: 1)
    let map = try Mapping(Self.keyed + "data: [\"total\"]")
    for _ in 0..<500 {
      let count = Int.random(in: 1...15, using: &random)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let scale = Int.random(in: -3...20, using: &random)
      let whole = bytes.dropFirst().reduce(Decimal(Int8(bitPattern: bytes[0]))) { $0 * 256 + Decimal($1) }
      let event = Self.envelope(
        Self.decimal.replacing("\"scale\":\"2\"", with: "\"scale\":\"\(scale)\""),
        "\"\(Data(bytes).base64EncodedString())\""
      )
      let number = data(map, event).dropFirst(9).dropLast()
      let sign: FloatingPointSign = whole < 0 ? .minus : .plus
      let expected = Decimal(sign: sign, exponent: -scale, significand: abs(whole))
      #expect(Decimal(string: String(number)) == expected, "\(bytes) \(scale): \(number)")
    }
  }

  @Test func `an order by bytes in Base64 is a warning, once`() throws {
    func warns(_ mapping: String, _ values: [String]) throws -> Int {
      let map = try Mapping(Self.keyed + mapping)
      return (0..<60).filter { number in
        _ = map(key: "{\"id\":1}", "{\"after\":{\"t\":\(values[number % values.count])},\"op\":\"c\"}")
        return map.takesOrderWarning()
      }.count
    }
    let order = "order: [{by: \"/t\"}]"
    #expect(try warns(order, ["\"AJY=\"", "\"BAgA\""]) == 1)
    #expect(try warns(order + ", decimals: {\"/t\": 0}", ["\"AJY=\"", "\"BAgA\""]) == 0)
    #expect(try warns(order, ["\"open\"", "\"paid\""]) == 0)
    #expect(try warns(order, ["\"AJY=\"", "1"]) == 0)
    #expect(try warns("keep: 5", ["\"AJY=\""]) == 0)
  }

  // MARK: Events of connectors

  @Test func `events of MongoDB have the row as text`() throws {
    let map = try Mapping(
      "format: \"debezium\", feed: \"f-{/area}\", section: \"s\", item: \"{/_id/$oid}\", data: [\"n\"]"
    )
    let key = #"{"id":"{\"$oid\": \"65a1\"}"}"#
    func document(_ area: Int, _ n: Int) -> String {
      #""{\"_id\": {\"$oid\": \"65a1\"},\"area\": \#(area),\"n\": \#(n)}""#
    }
    let created =
      #"{"before":null,"after":\#(document(1, 5)),"updateDescription":null,"source":{"connector":"mongodb"},"op":"c"}"#
    #expect(
      map(key: key, created).records == [
        #"f-1 {"op":"item.upsert","item":"65a1","section":"s","data":{"n":5}}"#
      ]
    )
    let moved = #"{"before":\#(document(1, 5)),"after":\#(document(2, 6)),"op":"u"}"#
    #expect(map(key: key, moved).records.count == 2)
    #expect(map(key: key, #"{"before":\#(document(2, 6)),"after":null,"op":"d"}"#).outcome == "deleted")
    let changes = #"{"before":null,"after":null,"updateDescription":{"updatedFields":"{\"n\": 7}"},"op":"u"}"#
    #expect(map(key: key, changes).outcome.contains("capture.mode=change_streams_update_full"))
    #expect(map(key: key, #"{"after":"no JSON","op":"c"}"#).outcome.hasPrefix("invalid-json"))
    let keyed = try Mapping("format: \"debezium\", feed: \"f\", section: \"s\", item: \"{key/id}\"")
    #expect(
      keyed(key: key, #"{"before":null,"after":null,"op":"d"}"#).records == [
        #"f {"op":"item.delete","item":"{\"$oid\": \"65a1\"}"}"#
      ]
    )
  }

  @Test func `changes of tables are skipped, and a truncation in between rejects only itself`() throws {
    let map = try Mapping(Self.keyed + "data: [\"id\"]")
    let ddl =
      #"{"source":{"server":"mysql"},"ts_ms":1,"databaseName":"shop","ddl":"ALTER TABLE orders …","tableChanges":[]}"#
    #expect(map(key: "{\"databaseName\":\"shop\"}", ddl).outcome == "skipped")
    let row = #"{"before":null,"after":{"id":1},"op":"r"}"#
    #expect(map(key: "{\"id\":1}", row).outcome == "upserted")
    #expect(
      map(key: nil, #"{"before":null,"after":null,"op":"t"}"#).outcome.hasPrefix(
        "unmappable: the table was truncated"
      )
    )
    #expect(map(key: "{\"id\":1}", row).outcome == "upserted")
  }

  // MARK: Rows

  private static let plain = "feed: \"f\", section: \"s\", item: \"{key/id}\""

  @Test func `rows may have a schema, which is that of Kafka Connect's converter`() throws {
    let schema = "{\"type\":\"struct\",\"fields\":[\(Self.decimal)],\"optional\":false}"
    let row = "{\"schema\":\(schema),\"payload\":{\"total\":\"AJY=\"}}"
    let key = "{\"schema\":{\"type\":\"struct\"},\"payload\":{\"id\":1}}"
    #expect(data(try Mapping(Self.plain), key: key, row) == "{\"total\":1.50}")
    #expect(try Mapping(Self.plain)(key: key, "{\"schema\":null,\"payload\":null}").outcome == "deleted")
    // Columns of these names are no schema.
    for row in ["{\"schema\":\"a\",\"payload\":{}}", "{\"schema\":{},\"payload\":{},\"id\":1}"] {
      #expect(data(try Mapping(Self.plain), row) == row)
    }
  }

  @Test(arguments: [
    ("\"__deleted\":\"true\"", true), ("\"__deleted\":true", true), ("\"__op\":\"d\"", true),
    ("\"__deleted\":\"false\"", false), ("\"__op\":\"u\",\"__deleted\":\"false\"", false),
    ("\"deleted\":\"true\"", false),
  ])
  func `a row may say that it is deleted`(_ mark: String, _ isDeleted: Bool) throws {
    let (records, outcome) = try Mapping(Self.plain)(key: "{\"id\":1}", "{\"id\":1,\(mark)}")
    #expect(outcome == (isDeleted ? "deleted" : "upserted"))
    #expect(records.count == 1 && !records[0].contains("__deleted"), "\(records)")
    // A table may have columns of these names, and so may an object in it.
    let part = "{\"id\":1,\(mark)}"
    #expect(
      data(try Mapping(Self.plain + ", data: \"/x\""), "{\"__deleted\":\"false\",\"x\":\(part)}") == part
    )
    #expect(
      try Mapping(Self.keyed)(key: "{\"id\":1}", "{\"after\":{\(mark)},\"op\":\"u\"}").outcome == "upserted"
    )
  }
}
