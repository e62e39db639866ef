import FeedTestSupport
import OperatingSystem
import Settings
import Testing

@Suite struct ConfigurationDocumentTests {
  private func document(_ text: String) throws(ConfigurationError) -> ConfigurationDocument {
    try ConfigurationDocument(text: text, name: "test.json5")
  }

  private func value(_ text: String, _ key: String) throws -> ConfigurationValue? {
    try document(text).entries[key]?.value
  }

  @Test func `nested objects and dotted keys are equivalent`() throws {
    for text in [
      "{ a: { b: { c: 1 } } }", "{ 'a.b.c': 1 }", "{ \"a.b\": { c: 1 } }", "{ a: { 'b.c': 1, }, }",
    ] {
      let document = try document(text)
      #expect(document.entries.keys.sorted() == ["a.b.c"], "\(text)")
      #expect(document.entries["a.b.c"]?.value == .integer(1), "\(text)")
    }
  }

  @Test func `values keep their types`() throws {
    #expect(try value("{ a: 0x10 }", "a") == .integer(16))
    #expect(try value("{ a: 1e3 }", "a") == .integer(1000))
    #expect(try value("{ a: 5.0 }", "a") == .integer(5))
    #expect(try value("{ a: +.5 }", "a") == .number(0.5))
    #expect(try value("{ a: -Infinity }", "a") == .number(-.infinity))
    #expect(try value("{ a: true }", "a") == .boolean(true))
    #expect(try value("{ a: null }", "a") == .null)
    #expect(try value("{ a: 'x' }", "a") == .string("x"))
    #expect(try value("{ a: [1, 'x'] }", "a") == .array([.integer(1), .string("x")]))
    #expect(try value("{ a: {} }", "a") == .object([:]))
  }

  @Test func `comments and byte order marks are skipped`() throws {
    #expect(try value("\u{FEFF}// one\n{ /* two */ a: 1, // '}\n}", "a") == .integer(1))
  }

  @Test func `an entry has its line`() throws {
    let document = try document("{\n  // a\n  a: 1, /*\n */ b: {\n  c: 'x\\\ny', d: 2 } }")
    #expect(document.entries["a"]?.place == "test.json5:3")
    #expect(document.entries["b.c"]?.place == "test.json5:5")
    #expect(document.entries["b.d"]?.place == "test.json5:6")
  }

  @Test(arguments: [
    ("{\n a: 1\n b: 2 }", 3, "expected ',' or '}', found 'b'"),
    ("{\n a: tru,\n}", 2, "'tru' is not a value; a string must be in quotes"),
    ("{\n a: 1_000,\n}", 2, "'1_000' is not a value; a string must be in quotes"),
    ("{\n a: 0x0x10,\n}", 2, "'0x0x10' is not a value; a string must be in quotes"),
    ("{\n a: localhost:9092,\n}", 2, "'localhost' is not a value; a string must be in quotes"),
    ("{\n a: {\n b: 1,\n", 4, "the '{' of line 2 is never closed"),
    ("{\n a: [1,\n", 3, "the '[' of line 2 is never closed"),
    ("{\n a: [1 }", 2, "expected ',' or ']', found '}'"),
    ("{\n a: 'x,\n}", 2, "a string is not closed by '''"),
    ("{\n a: 1, /* b\n}", 2, "a comment is not closed by '*/'"),
    ("{\n a 1 }", 2, "':' is missing after a"),
    ("{\n a: , }", 2, "expected a value, found ','"),
    ("{\n , }", 2, "expected a key, found ','"),
    ("{\n} x", 2, "unexpected 'x' after the end of the configuration"),
    ("", 1, "the configuration is empty; write {}"),
    ("// all of it\n", 2, "a value is missing at the end"),
  ])
  func `a syntax error has its line`(_ text: String, line: Int, message: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try document(text) }
    #expect(error.description == "test.json5:\(line): \(message)")
  }

  @Test(arguments: ["{\n\n a: 1e999 }", "{\n\n a: 0123 }"])
  func `an unreadable number is reported with its key`(_ text: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try document(text) }
    #expect(error.description == "test.json5:3: the value of a is not valid JSON5")
  }

  @Test(arguments: [
    String(repeating: "[", count: 1_000_000), "{ a: " + String(repeating: "{ b: ", count: 300),
    "{ a: " + String(repeating: "[", count: 300) + String(repeating: "]", count: 300) + "}",
    "{ a: " + String(repeating: "{ b: ", count: 32) + "1" + String(repeating: "}", count: 32) + "}",
  ])
  func `deep nesting is refused and does not overflow the stack`(_ text: String) async throws {
    let worker = WorkerThread(name: "small", stackSize: 256 << 10)
    defer { worker.stop() }
    let error = await withTaskExecutorPreference(worker) { @concurrent in
      #expect(throws: ConfigurationError.self) { try document(text) }
    }
    #expect(error?.message == "nested deeper than 32 levels")
  }

  @Test func `the deepest accepted nesting fits on a small stack`() async throws {
    let worker = WorkerThread(name: "small", stackSize: 256 << 10)
    defer { worker.stop() }
    let text = "{ a: " + String(repeating: "[", count: 31) + String(repeating: "]", count: 31) + "}"
    let value = try await withTaskExecutorPreference(worker) { @concurrent in
      try document(text).entries["a"]?.value
    }
    guard case .array? = value else {
      Issue.record("\(value as Any)")
      return
    }
  }

  @Test func `an assignment with deep nesting is a string`() throws {
    let text = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
    var document = ConfigurationDocument()
    try document.set("a=" + text)
    #expect(document.entries["a"]?.value == .string(text))
  }

  @Test(arguments: ["5", "[]", "'x'", "null"])
  func `a document that is not an object is refused`(_ text: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try document(text) }
    #expect(error.message.contains("it must be an object"))
  }

  @Test(arguments: [
    ("{ a: 1,\n a: 2 }", "a"),
    ("{ a: { b: 1 },\n 'a.b': 2 }", "a.b"),
    ("{ 'a.b': 1,\n a: { b: 2 } }", "a.b"),
    ("{ a: { b: 1 },\n a: { c: 2 } }", "a"),
    ("{ a: 1,\n '\\x61': 2 }", "a"),
    ("{ \"\\u0061\": 1,\n a: 2 }", "a"),
    ("{ a: { b: 1 },\n 'a\\u002Eb': 2 }", "a.b"),
    ("{ a: [1, { b: 1,\n b: 2 }] }", "a[1].b"),
    ("{ a: [{ b: { c: 1,\n 'c': 2 } }] }", "a[0].b.c"),
  ])
  func `setting a key twice is an error`(_ text: String, key: String) throws {
    let error = try #require(throws: ConfigurationError.self) { try document(text) }
    #expect(error.description == "test.json5:2: \(key) is set twice, first in line 1; remove one of the two")
  }

  @Test func `objects in a list may have the same keys`() throws {
    #expect(try document("{ a: [{ b: 1 }, { b: 2 }] }").entries.count == 1)
  }

  @Test func `assignments override earlier settings`() throws {
    var document = try document("{ a: { b: 1, c: 2 } }")
    try document.set("a.b=3")
    try document.set("a.c=4")
    try document.set("a.c='x=y'")
    try document.set("d={ e: 5, f: { g: 6 } }")
    let values = document.entries.mapValues(\.value)
    #expect(values == ["a.b": .integer(3), "a.c": .string("x=y"), "d.e": .integer(5), "d.f.g": .integer(6)])
    #expect(document.entries["a.b"]?.place == "--set")
  }

  @Test(arguments: ["localhost:9092,other:9092", "", "007", "a b", "{broken", "//x/y", "it's"])
  func whatIsNotJson5IsAbareString(_ text: String) throws {
    var document = ConfigurationDocument()
    try document.set("a=\(text)")
    #expect(document.entries["a"]?.value == .string(text))
  }

  @Test func `an assigned object must not set a key twice`() throws {
    var document = ConfigurationDocument()
    let error = try #require(throws: ConfigurationError.self) { try document.set("a={ b: 1, b: 2 }") }
    #expect(error.description == "--set: a.b is set twice in one --set; remove one of the two")
    let inList = try #require(throws: ConfigurationError.self) {
      try document.set("a=[{ b: 1, '\\x62': 2 }]")
    }
    #expect(inList.description == "--set: a[0].b is set twice in one --set; remove one of the two")
    try document.set("a={ b: 1, b: 2")
    #expect(document.entries["a"]?.value == .string("{ b: 1, b: 2"))
  }

  @Test(arguments: ["a", "=1", ""])
  func `an assignment needs a key and an equals sign`(_ text: String) throws {
    var document = ConfigurationDocument()
    let error = try #require(throws: ConfigurationError.self) { try document.set(text) }
    #expect(error.message.hasPrefix("'\(text)' is not KEY=VALUE"))
  }

  @Test func `a file that cannot be read is named`() throws {
    let error = try #require(throws: ConfigurationError.self) {
      try ConfigurationDocument(file: "/nowhere/feedstore.json5")
    }
    #expect(
      error.description
        == "/nowhere/feedstore.json5: cannot read the configuration: No such file or directory"
    )
    #expect(throws: ConfigurationError.self) { try ConfigurationDocument(file: "/") }
  }

  @Test func aFileIsReadAndMustBeUtf8() throws {
    let text = try SecretTestFile("{ a: 'é' }")
    #expect(try ConfigurationDocument(file: text.path).entries["a"]?.value == .string("é"))
    let file = try SecretTestFile([0x7B, 0xFF, 0x7D])
    let error = try #require(throws: ConfigurationError.self) { try ConfigurationDocument(file: file.path) }
    #expect(error.message == "the file is not UTF-8; save it as UTF-8")
  }
}
