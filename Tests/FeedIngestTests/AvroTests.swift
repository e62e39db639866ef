import Foundation
import IngestTestSupport
import Oracle
import Settings
import Synchronization
import Testing

/// Records of Avro are mapped as the same ones in JSON.
@Suite struct AvroTests {
  private let registry: TestRegistry

  init() throws { registry = try TestRegistry() }

  /// In Confluent's wire format.
  private static func record(_ id: UInt8, _ content: [UInt8]) -> [UInt8] { [0, 0, 0, 0, id] + content }

  private static let keyed = "format: \"avro\", feed: \"f\", section: \"s\", item: \"{key}\""

  // MARK: Values

  /// An event with all types of columns, as Debezium's connector for PostgreSQL describes it; encoded by Apache's avro for Python.
  private static let schema = #"""
    {"type":"record","name":"Envelope","namespace":"shop.public.orders","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[{"name":"id","type":"long"},\#
    {"name":"flag","type":["null","boolean"],"default":null},\#
    {"name":"small","type":{"type":"int","connect.type":"int16"}},\#
    {"name":"real","type":"float"},\#
    {"name":"ratio","type":["null","double"]},\#
    {"name":"price","type":["null",{"type":"bytes","scale":2,"precision":20,"connect.version":1,"connect.parameters":{"scale":"2","connect.decimal.precision":"20"},"connect.name":"org.apache.kafka.connect.data.Decimal","logicalType":"decimal"}],"default":null},\#
    {"name":"cents","type":{"type":"fixed","name":"Cents","size":4,"logicalType":"decimal","precision":8,"scale":3}},\#
    {"name":"any","type":["null",{"type":"record","name":"VariableScaleDecimal","namespace":"io.debezium.data","fields":[{"name":"scale","type":"int"},\#
    {"name":"value","type":"bytes"}],"connect.doc":"Variable scaled decimal","connect.version":1,"connect.name":"io.debezium.data.VariableScaleDecimal"}]},\#
    {"name":"any2","type":["null","io.debezium.data.VariableScaleDecimal"]},\#
    {"name":"raw","type":"bytes"},\#
    {"name":"hash","type":{"type":"fixed","name":"Hash","size":3}},\#
    {"name":"state","type":{"type":"enum","name":"State","symbols":["open","paid"]}},\#
    {"name":"day","type":{"type":"int","connect.version":1,"connect.name":"io.debezium.time.Date"}},\#
    {"name":"at","type":{"type":"long","connect.version":1,"connect.name":"io.debezium.time.MicroTimestamp"}},\#
    {"name":"millis","type":{"type":"long","logicalType":"timestamp-millis"}},\#
    {"name":"zoned","type":["null",{"type":"string","connect.version":1,"connect.name":"io.debezium.time.ZonedTimestamp"}]},\#
    {"name":"tags","type":{"type":"array","items":["null","string"]}},\#
    {"name":"hstore","type":{"type":"map","values":["null","string"]}},\#
    {"name":"point","type":["null",{"type":"record","name":"Point","namespace":"io.debezium.data.geometry","fields":[{"name":"x","type":"double"},\#
    {"name":"srid","type":["null","int"]}]}]},\#
    {"name":"note","type":"string"}],"connect.name":"shop.public.orders.Value"}],"default":null},\#
    {"name":"after","type":["null","Value"],"default":null},\#
    {"name":"source","type":{"type":"record","name":"Source","namespace":"io.debezium.connector.postgresql","fields":[{"name":"table","type":"string"},\#
    {"name":"snapshot","type":[{"type":"string","connect.parameters":{"allowed":"true,last,false"},"connect.default":"false","connect.name":"io.debezium.data.Enum"},"null"],"default":"false"}]}},\#
    {"name":"op","type":"string"},\#
    {"name":"ts_ms","type":["null","long"],"default":null}],"connect.version":1,"connect.name":"shop.public.orders.Envelope"}
    """#
  private static let event = """
    0002828080808080802002010dcdcccc3d029c7500883ce4377e0210eeddef0b82167eebfffffb1e02060401f4020302070600ff106162\
    6302c0b8028089f2a0b7a69506f6f1cbf28365022c323032352d30312d30315430303a30303a30302e355a060202610002082271220a00\
    02026b0202760002000000000000e0bf000ac3bc6ec3af0c6f7264657273000a66616c736502630202
    """

  private static var content: [UInt8] {
    stride(from: 0, to: event.utf8.count, by: 2).map { at in
      UInt8(event.dropFirst(at).prefix(2), radix: 16)!
    }
  }

  @Test func `an event has all types of columns`() throws {
    registry.schemas[7] = Self.schema
    let map = try registry.mapping("format: \"debezium-avro\", feed: \"f\", section: \"s\", item: \"{/id}\"")
    let (records, outcome) = map.map(key: nil, Self.record(7, Self.content))
    let data = #"""
      {"id":9007199254740993,"flag":true,"small":-7,"real":0.1,"ratio":1e+300,"price":-12345678901234567.89,"cents":-1.250,"any":0.500,\#
      "any2":700,"raw":"AP8Q","hash":"YWJj","state":"paid","day":20000,"at":1735689600123456,"millis":1735689600123,\#
      "zoned":"2025-01-01T00:00:00.5Z","tags":["a",null,"\"q\"\n"],"hstore":{"k":"v"},"point":{"x":-0.5,"srid":null},"note":"ünï"}
      """#
    #expect(outcome == "upserted")
    #expect(
      records == [
        #"f {"op":"item.upsert","item":"9007199254740993","section":"s","data":\#(data)}"#
      ]
    )
  }

  @Test(
    arguments: [
      (#""double""#, [0, 0, 0, 0, 0, 0, 0xF8, 0x7F], "\"NaN\""),
      (#""double""#, [0, 0, 0, 0, 0, 0, 0xF0, 0xFF], "\"-Infinity\""),
      (#""double""#, [1, 0, 0, 0, 0, 0, 0, 0], "5e-324"), (#""float""#, [0, 0, 0x80, 0x7F], "\"Infinity\""),
      (#""double""#, [0x33, 0x33, 0x33, 0x33, 0x33, 0x33, 0xD3, 0x3F], "0.3"),
      (#""long""#, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1], "-9223372036854775808"),
      (#"{"type":"array","items":"int"}"#, [4, 2, 4, 1, 2, 6, 0], "[1,2,3]"),
      (#"{"type":{"type":"map","values":"boolean"}}"#, [2, 2, 0x61, 1, 0], "{\"a\":true}"),
      (#"{"type":"array","items":"string"}"#, [0], "[]"),
      (#"{"type":"record","name":"E","fields":[]}"#, [], "{}"),
      // Without a scale, and with Kafka Connect's parameters only.
      (#"{"type":"bytes","logicalType":"decimal"}"#, [4, 1, 0], "256"),
      (
        #"{"type":"bytes","connect.name":"org.apache.kafka.connect.data.Decimal","connect.parameters":{"scale":"1"}}"#,
        [2, 0xFF],
        "-0.1"
      ),
      (#"{"type":"bytes","logicalType":"decimal","scale":3}"#, [0], "\"\""),
      // Names without and with a namespace.
      (
        #"{"type":"record","name":"a.B","fields":[{"name":"x","type":{"type":"fixed","name":"C","size":1}},{"name":"y","type":["null","a.C"]}]}"#,
        [1, 2, 2], #"{"x":"AQ==","y":"Ag=="}"#
      ),
      (
        #"{"type":"record","name":"L","fields":[{"name":"n","type":["null","L"]}]}"#, [2, 2, 0],
        #"{"n":{"n":{"n":null}}}"#
      ),
    ] as [(String, [UInt8], String)]
  )
  func `a value is spelled as JsonConverter does`(_ type: String, _ bytes: [UInt8], _ json: String) throws {
    registry.schemas[1] =
      "{\"type\":\"record\",\"name\":\"Row\",\"fields\":[{\"name\":\"v\",\"type\":\(type)}]}"
    let (records, outcome) = try registry.mapping(Self.keyed).map(key: [0x6B], Self.record(1, bytes))
    #expect(records.first?.hasSuffix("\"data\":{\"v\":\(json)}}") == true, "\(outcome) \(records)")
  }

  @Test func `keys are Avro or text, and a null deletes`() throws {
    registry.schemas = [
      1: "\"string\"", 2: #"{"type":"record","name":"Key","fields":[{"name":"id","type":"int"}]}"#,
    ]
    let map = try registry.mapping(Self.keyed)
    for (key, item) in [
      (Self.record(1, [4, 0x61, 0x62]), "ab"), (Array("ab".utf8), "ab"),
      (Self.record(2, [14]), #"{\"id\":7}"#),
    ] {
      #expect(map.map(key: key, nil).records == ["f {\"op\":\"item.delete\",\"item\":\"\(item)\"}"])
    }
    let member = try registry.mapping(Self.keyed.replacing("{key}", with: "{key/id}"))
    #expect(member.map(key: Self.record(2, [14]), nil).records[0].hasSuffix("\"item\":\"7\"}"))
  }

  @Test(arguments: RandomCases.seeds(1...4)) func `random tables are as in JSON`(_ seed: UInt64) throws {
    for (id, schema) in TableScript.avroSchemas.enumerated() { registry.schemas[id] = schema }
    func values(_ records: [String]) throws -> [ConfigurationValue] {
      try records.map { record in
        let value = record.drop { $0 != " " }
        return try JSONDecoder().decode(ConfigurationValue.self, from: Data(value.utf8))
      }
    }
    var script = TableScript(.debeziumAvro, seed: seed)
    let source = String(script.source(topic: "").dropFirst("{topic: \"\",".count).dropLast())
    let json = try Mapping(source.replacing("debezium-avro", with: "debezium"))
    let avro = try registry.mapping(source)
    for _ in 0..<400 {
      for record in script.step() {
        let one = json(key: record.key, record.value)
        let other = avro.map(key: script.encoded(record.key), script.encoded(record.value))
        #expect(
          one.outcome.prefix { $0 != ":" } == other.outcome.prefix { $0 != ":" },
          "seed \(seed): \(record)"
        )
        #expect(try values(one.records) == values(other.records), "seed \(seed): \(record)")
      }
    }
  }

  // MARK: Faults

  @Test(
    arguments: [
      ("\"int\"", [], "unmappable: the record does not fit the schema 1: it ends too early"),
      ("\"int\"", [2, 2], "it has 1 bytes more than the schema"),
      ("\"long\"", [UInt8](repeating: 0xFF, count: 11), "a number has more than 64 bits"),
      ("\"string\"", [1], "it ends too early"),
      ("\"bytes\"", [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], "it ends too early"),
      (#"{"type":"enum","name":"e","symbols":["a"]}"#, [2], "a choice that the schema does not have"),
      (#"["null","int"]"#, [1], "a choice that the schema does not have"),
      // libavro would not come to an end, or the stack to its own.
      (#"{"type":"array","items":"null"}"#, [0x80, 0x80, 0x80, 0x80, 0x80, 1, 0], "limits.maxRecordBytes"),
      (
        #"{"type":"array","items":"null"}"#, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0],
        "a block has no number of values"
      ),
      (
        #"{"type":"record","name":"L","fields":[{"name":"n","type":["null","L"]}]}"#,
        [UInt8](repeating: 2, count: 100_000), "it is nested too deep"
      ),
      (#"{"type":"record","name":"L","fields":[{"name":"n","type":"L"}]}"#, [], "it is nested too deep"),
      ("\"Foo\"", [], "the schema 1 cannot be used: it has no type \"Foo\""),
      ("syntax = \"proto3\";", [], "the schema 1 cannot be used: it is not JSON"),
      (#"{"type":"fixed","name":"f","size":-1}"#, [], "it ends too early"),
      (String(repeating: "[", count: 400) + String(repeating: "]", count: 400), [], "nested too deep"),
    ] as [(String, [UInt8], String)]
  )
  func `data that does not fit is rejected with the id`(
    _ type: String,
    _ bytes: [UInt8],
    _ message: String
  ) throws {
    registry.schemas[1] = type
    let map = try registry.mapping(Self.keyed)
    let (records, outcome) = map.map(key: [0x6B], Self.record(1, bytes))
    #expect(records.isEmpty && outcome.contains(message), "\(outcome)")
  }

  @Test(arguments: [[], [0], [0, 0, 0, 0], Array("{\"a\":1}".utf8), [1, 0, 0, 0, 1, 2]] as [[UInt8]])
  func `a value without the header is not Avro`(_ value: [UInt8]) throws {
    let outcome = try registry.mapping(Self.keyed).map(key: [0x6B], value).outcome
    #expect(outcome.hasPrefix("unmappable: the record is not Avro: "), "\(outcome)")
  }

  @Test(arguments: RandomCases.seeds(1...4)) func `cut and damaged events never stop it`(
    _ seed: UInt64
  ) throws {
    registry.schemas[7] = Self.schema
    let map = try registry.mapping("format: \"debezium-avro\", feed: \"f\", section: \"s\", item: \"{/id}\"")
    let content = Self.content
    for count in content.indices {
      let outcome = map.map(key: nil, Self.record(7, Array(content[..<count]))).outcome
      #expect(outcome.contains("does not fit the schema 7"), "\(count): \(outcome)")
    }
    var random = SplitMix64(seed: seed)
    for _ in 0..<500 {
      var damaged = content
      for _ in 0...random.below(3) { damaged[random.below(damaged.count)] = UInt8(random.below(256)) }
      _ = map.map(key: nil, Self.record(7, damaged))
    }
    #expect(map.map(key: nil, Self.record(7, content)).outcome == "upserted", "seed \(seed)")
  }

  // MARK: The registry

  @Test func `a schema is read once, with the user's password`() throws {
    registry.schemas[1] = #"{"type":"record","name":"Row","fields":[]}"#
    registry.authorization = "Basic " + Data("me:a:secret".utf8).base64EncodedString()
    let user = "ingest.schemaRegistry.user=me"
    let denied = try registry.mapping(Self.keyed, [user, "ingest.schemaRegistry.password=other"])
    let outcome = denied.map(key: [0x6B], Self.record(1, [])).outcome
    #expect(outcome.hasPrefix("unavailable: http://127.0.0.1:"), "\(outcome)")
    #expect(
      outcome.hasSuffix("/schemas/ids/1: HTTP status 401; check ingest.schemaRegistry.user and password")
    )
    let map = try registry.mapping(Self.keyed, [user, "ingest.schemaRegistry.password=a:secret"])
    for _ in 0..<3 { #expect(map.map(key: [0x6B], Self.record(1, [])).outcome == "upserted") }
    #expect(registry.requests == 2)
  }

  @Test func `a registry that is down delays the record`() throws {
    registry.schemas[1] = #"{"type":"record","name":"Row","fields":[]}"#
    let map = try registry.mapping(Self.keyed)
    registry.status = 503
    for _ in 0..<2 {
      #expect(map.map(key: [0x6B], Self.record(1, [])).outcome.hasSuffix("/schemas/ids/1: HTTP status 503"))
    }
    registry.status = nil
    #expect(map.map(key: [0x6B], Self.record(1, [])).outcome == "upserted")
    // No server listens on port 1.
    let lost = try Mapping(Self.keyed, settings: ["ingest.schemaRegistry.url=http://127.0.0.1:1"])
    #expect(lost.map(key: [0x6B], Self.record(1, [])).outcome.hasPrefix("unavailable: http://127.0.0.1:1/"))
  }

  @Test func `an unknown schema is rejected, and requested again after a minute`() throws {
    let time = Mutex<Int64>(0)
    let map = try Mapping(Self.keyed, settings: ["ingest.schemaRegistry.url=\(registry.url)"]) {
      time.withLock(\.self)
    }
    for now: Int64 in [0, 59_999] {
      time.withLock { $0 = now }
      #expect(
        map.map(key: [0x6B], Self.record(9, [])).outcome
          == "unmappable: the schema 9 cannot be used: it is unknown"
      )
    }
    #expect(registry.requests == 1)
    registry.schemas[9] = #"{"type":"record","name":"Row","fields":[]}"#
    time.withLock { $0 = 60_000 }
    #expect(map.map(key: [0x6B], Self.record(9, [])).outcome == "upserted")
  }

  @Test func `schemas can be files`() throws {
    let path = NSTemporaryDirectory() + "avro-\(UUID()).avsc"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let map = try Mapping(Self.keyed, settings: ["ingest.schemaFiles={\"3\": \"\(path)\"}"])
    #expect(map.map(key: [0x6B], Self.record(3, [])).outcome.hasPrefix("unavailable: cannot read \(path)"))
    try Data(#"{"type":"record","name":"Row","fields":[]}"#.utf8).write(to: URL(fileURLWithPath: path))
    #expect(map.map(key: [0x6B], Self.record(3, [])).outcome == "upserted")
    #expect(map.map(key: [0x6B], Self.record(4, [])).outcome.hasPrefix("unmappable: the schema 4 "))
  }
}

extension TestRegistry {
  fileprivate func mapping(_ source: String, _ settings: [String] = []) throws -> Mapping {
    try Mapping(source, settings: ["ingest.schemaRegistry.url=\(url)"] + settings)
  }
}
