import Glibc
import Settings
import Testing

@Suite struct ConfigurationReaderTests {
  private func reader(_ text: String, set: String...) throws -> ConfigurationReader {
    var document = try ConfigurationDocument(text: text, name: "test.json5")
    for assignment in set { try document.set(assignment) }
    return ConfigurationReader(document)
  }

  private enum Colour: String, CaseIterable {
    case red
    case green
  }

  @Test func `an unset key has its default`() throws {
    var reader = try reader("{}")
    #expect(try reader.integer("a", default: 7, in: 0...9) == 7)
    #expect(try reader.number("b", default: 0.5) == 0.5)
    #expect(try reader.boolean("c", default: true))
    #expect(try reader.string("d", default: "x") == "x")
    #expect(try reader.choice("e", default: Colour.green) == .green)
    #expect(reader.knownKeys == ["a", "b", "c", "d", "e"])
    #expect(reader.place(of: "a") == "default")
  }

  @Test func `set values are read`() throws {
    var reader = try reader("{ a: 0, b: 1, c: false, d: '', e: 'red' }")
    #expect(try reader.integer("a", default: 7, in: 0...9) == 0)
    #expect(try reader.number("b", default: 0.5) == 1)
    #expect(try !reader.boolean("c", default: true))
    #expect(try reader.string("d", default: "x") == "")
    #expect(try reader.choice("e", default: Colour.green) == .red)
    #expect(reader.place(of: "a") == "test.json5:1")
    try reader.finish()
  }

  @Test func `an error has the source, key, value and range`() throws {
    var reader = try reader("{\n a: 10, b: 'x', c: 1e30, d: { e: 1 }, f: 0.5, g: '1' }")
    func description(_ read: (inout ConfigurationReader) throws -> Void) throws -> String {
      try #require(throws: ConfigurationError.self) { try read(&reader) }.description
    }
    let range: ClosedRange<Int> = 0...9
    #expect(
      try description { _ = try $0.integer("a", default: 7, in: range) }
        == "test.json5:2: a is 10; allowed: a whole number from 0 to 9"
    )
    #expect(
      try description { _ = try $0.integer("b", default: 7, in: range) }
        == "test.json5:2: b is \"x\"; allowed: a whole number from 0 to 9"
    )
    #expect(
      try description { _ = try $0.integer("c", default: 7, in: range) }
        == "test.json5:2: c is 1e+30; allowed: a whole number from 0 to 9"
    )
    #expect(
      try description { _ = try $0.integer("f", default: 7, in: range) }
        == "test.json5:2: f is 0.5; allowed: a whole number from 0 to 9"
    )
    #expect(
      try description { _ = try $0.number("b", default: 1) }
        == "test.json5:2: b is \"x\"; allowed: a finite number, 0 or more"
    )
    #expect(
      try description { _ = try $0.boolean("g", default: true) }
        == "test.json5:2: g is \"1\"; allowed: true or false"
    )
    #expect(
      try description { _ = try $0.string("a", default: "") } == "test.json5:2: a is 10; allowed: a string"
    )
    #expect(
      try description { _ = try $0.choice("b", default: Colour.red) }
        == "test.json5:2: b is \"x\"; allowed: one of \"red\", \"green\""
    )
  }

  @Test func `a string on a command line needs no quotes`() throws {
    var reader = try reader("{}", set: "a=true", "b=1.50", "c='x'", "d=null")
    #expect(try reader.string("a", default: "") == "true")
    #expect(try reader.string("b", default: "") == "1.50")
    #expect(try reader.string("c", default: "") == "x")
    #expect(try reader.string("d", default: "") == "null")
  }

  @Test func `an unknown key is reported with the nearest known one`() throws {
    var reader = try reader("{\n coalesce: {\n widnow: 5 } }")
    _ = try reader.integer("coalesce.window", default: 1, in: 0...9)
    _ = try reader.integer("planner.window", default: 1, in: 0...9)
    let error = try #require(throws: ConfigurationError.self) { try reader.finish() }
    #expect(
      error.description
        == "test.json5:3: coalesce.widnow (5) is not a known key; did you mean coalesce.window?"
    )
  }

  @Test func `an unknown key without a near one lists all keys`() throws {
    var reader = try reader("{ zebra: 1 }")
    _ = try reader.integer("coalesce.window", default: 1, in: 0...9)
    _ = try reader.pairs(prefix: "kafka.")
    let error = try #require(throws: ConfigurationError.self) { try reader.finish() }
    #expect(error.message == "zebra (1) is not a known key; allowed: coalesce.window, kafka.*")
  }

  @Test func `an empty section is allowed if its name is known`() throws {
    var known = try reader("{ coalesce: {}, kafka: {} }")
    _ = try known.integer("coalesce.window", default: 1, in: 0...9)
    #expect(try known.pairs(prefix: "kafka.").isEmpty)
    try known.finish()
    let unknown = try reader("{ coalesc: {} }")
    #expect(throws: ConfigurationError.self) { try unknown.finish() }
  }

  @Test func `the keys under a prefix are passed on as text`() throws {
    var reader = try reader(
      "{ kafka: { 'b.c': 1, a: { x: true, y: 'z' } }, kafkaesque: 1 }",
      set: "kafka.d=1.50",
      "kafka.e=a:1,b:2"
    )
    let pairs = try reader.pairs(prefix: "kafka.")
    #expect(pairs.map(\.name) == ["a.x", "a.y", "b.c", "d", "e"])
    #expect(pairs.map(\.value) == ["true", "z", "1", "1.50", "a:1,b:2"])
    let error = try #require(throws: ConfigurationError.self) { try reader.finish() }
    #expect(error.message.hasPrefix("kafkaesque (1) is not a known key"))
  }

  @Test(arguments: ["null", "[1]", "{}"])
  func `values without a text form cannot be passed on`(_ value: String) throws {
    var reader = try reader("{ kafka: { a: \(value) } }")
    let error = try #require(throws: ConfigurationError.self) { try reader.pairs(prefix: "kafka.") }
    #expect(error.message.hasPrefix("kafka.a is "))
  }
}

extension ConfigurationReader {
  /// The value of a key with this default.
  mutating func integer(_ key: String, default value: Int, in range: ClosedRange<Int>) throws -> Int {
    var value = value
    try read(key, into: &value, from: range.lowerBound, to: range.upperBound)
    return value
  }

  fileprivate mutating func number(_ key: String, default value: Double) throws -> Double {
    var value = value
    try read(key, into: &value)
    return value
  }
}

@Suite struct ConfigurationNumberTests {
  /// The decoder reads the byte after the number, which may be any byte in memory, and some values trap.
  @Test func `a number that fits no integer may be at the end`() throws {
    for fill in 1...255 as ClosedRange<UInt8> {
      for size in stride(from: 16, through: 96, by: 8) {
        let blocks = (0..<20).compactMap { _ in malloc(size) }
        for block in blocks { memset(block, CInt(fill), size) }
        for block in blocks { free(block) }
        var document = ConfigurationDocument()
        try document.set("a=99999999999999999999")
        #expect(document.entries["a"]?.value == .number(1e20))
      }
    }
  }
}

struct ConfigurationUnitTests {
  @Test(arguments: [
    ("0ms", 0), ("100ms", 100), ("2s", 2_000), ("1.5s", 1_500), ("0.001s", 1), ("5m", 300_000),
    ("5min", 300_000),
    ("1h", 3_600_000), ("1d", 86_400_000), ("2 s", 2_000), ("106751991167d", 9_223_372_036_828_800_000),
  ])
  func `a duration can have a unit`(text: String, milliseconds: Int64) {
    #expect(ConfigurationUnit.milliseconds.number(text) == milliseconds)
  }

  @Test(arguments: [
    ("1B", 1), ("64kB", 64_000), ("64KB", 64_000), ("64KiB", 65_536), ("8MiB", 8_388_608), ("8MB", 8_000_000),
    ("1.5GiB", 1_610_612_736), ("2TB", 2_000_000_000_000), ("1TiB", 1_099_511_627_776),
  ])
  func `a size can have a unit`(text: String, bytes: Int64) {
    #expect(ConfigurationUnit.bytes.number(text) == bytes)
  }

  @Test(arguments: [
    "", "1", "ms", "1.5ms", "-1s", "+1s", "1..5s", ".5s", "1.s", "1 000ms", "1  s", "1S", "1MS", "1µs", "１s",
    "1e3s",
    "9223372036854775807s", "99999999999999999999ms", "0.0000000001d", "106751991168d", "8MiB",
  ])
  func `a duration that is not a whole number of milliseconds is refused`(text: String) {
    #expect(ConfigurationUnit.milliseconds.number(text) == nil)
  }

  @Test func `every power of ten that a duration can have is exact`() {
    for power in 0...9 {
      let number = (0..<power).reduce(Int64(1)) { product, _ in product * 10 }
      #expect(ConfigurationUnit.milliseconds.number("\(number)s") == number * 1_000)
      #expect(ConfigurationUnit.bytes.number("\(number)KiB") == number << 10)
    }
  }
}
