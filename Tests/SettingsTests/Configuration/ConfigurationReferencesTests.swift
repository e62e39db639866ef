import FeedTestSupport
import Glibc
import Testing

@testable import Settings

struct ConfigurationReferencesTests {
  private func document(_ value: String, _ variables: [String: String] = [:]) throws -> ConfigurationDocument
  {
    var document = ConfigurationDocument()
    try document.set("kafka.sasl.password=\(value)")
    try document.resolve { variables[$0] }
    return document
  }

  private func value(_ text: String, _ variables: [String: String] = [:]) throws -> ConfigurationValue? {
    try document(text, variables).entries["kafka.sasl.password"]?.value
  }

  private func refusal(_ text: String) throws -> ConfigurationError {
    try #require(throws: ConfigurationError.self) { try document(text) }
  }

  @Test func `variables are replaced by their values, alone and within text`() throws {
    let variables = ["A": "x y", "B": "", "C": "${env:A}"]
    #expect(try value("${env:A}", variables) == .string("x y"))
    #expect(try value("<${env:A}|${env:B}>", variables) == .string("<x y|>"))
    // References in a variable's value are not resolved.
    #expect(try value("${env:C}", variables) == .string("${env:A}"))
  }

  @Test func `a dollar sign is literal, and two before a brace are one`() throws {
    #expect(try value("$5") == .string("$5"))
    #expect(try value("$$") == .string("$$"))
    #expect(try value("$${env:A}") == .string("${env:A}"))
    #expect(try value("$$${env:A}", ["A": "x"]) == .string("$${env:A}"))
  }

  @Test func `a resolved reference keeps its spelling for string keys`() throws {
    for text in ["007", "1.50", "true", "\"quoted\"", "null", "{}", "[1]", "'"] {
      var reader = ConfigurationReader(try document("${env:A}", ["A": text]))
      #expect(try reader.string("kafka.sasl.password", default: "") == text)
    }
    var document = ConfigurationDocument()
    try document.set("n=${env:A}")
    try document.resolve { _ in "0x10" }
    var reader = ConfigurationReader(document)
    #expect(try reader.integer("n", default: 0, in: 0...99) == 16)
  }

  @Test(arguments: [
    ("${env:NOWHERE}", "refers to the environment variable NOWHERE, which is not set"),
    ("${env:}", "refers to '${env:}'; write ${env:NAME}, ${file:PATH}"),
    ("${NAME}", "refers to '${NAME}'; write ${env:NAME}, ${file:PATH}"),
    ("${vault:x}", "refers to '${vault:x}'; write"),
    ("a${env:A", "has a '${' without a '}'"),
    ("${file:/nowhere/secret}", "refers to a file: cannot read /nowhere/secret: No such file or directory"),
  ])
  func `a reference that cannot be resolved is refused with the key, the source and the remedy`(
    text: String,
    message: String
  ) throws {
    let error = try refusal(text)
    #expect(error.place == "--set")
    #expect(error.message.hasPrefix("kafka.sasl.password " + message), "\(error)")
  }

  @Test func `a file is replaced by its text without the last line break`() throws {
    for (content, text) in [
      ("secret\n", "secret"), ("secret\r\n", "secret"), ("a\nb\n\n", "a\nb\n"), ("", ""),
    ] {
      let file = try SecretTestFile(content)
      #expect(try value("${file:\(file.path)}") == .string(text))
    }
  }

  @Test func `a file that other users can read is refused`() throws {
    let file = try SecretTestFile("secret\n", mode: 0o644)
    let error = try refusal("${file:\(file.path)}")
    #expect(error.message.contains("(mode 0644); chmod"))
    #expect(error.message.contains(file.path) && !error.message.contains("secret\n"))
  }

  @Test func `a file that is too large, or is not text, is refused`() throws {
    let large = try SecretTestFile(String(repeating: "x", count: ConfigurationReferences.mostBytes + 1))
    #expect(try refusal("${file:\(large.path)}").message.contains("has more than 1048576 bytes"))
    let half = try SecretTestFile(String(repeating: "x", count: ConfigurationReferences.mostBytes / 2 + 1))
    #expect(
      try refusal("${file:\(half.path)}${file:\(half.path)}").message.contains("more than 1048576 bytes")
    )
    let zero = try SecretTestFile("a\0b")
    #expect(try refusal("${file:\(zero.path)}").message.contains("zero byte"))
    let text = try SecretTestFile([0xFF])
    #expect(try refusal("${file:\(text.path)}").message.contains("is not UTF-8"))
  }

  @Test func `a reference that is overridden is not resolved`() throws {
    var document = ConfigurationDocument()
    try document.set("a=${env:NOWHERE}")
    try document.set("a=1")
    try document.resolve { _ in nil }
    #expect(document.entries["a"]?.value == .integer(1))
  }

  @Test func `an error about a wrong value shows its reference`() throws {
    var document = ConfigurationDocument()
    try document.set("n=${env:A}")
    try document.resolve { _ in "hunter2" }
    var reader = ConfigurationReader(document)
    let error = try #require(throws: ConfigurationError.self) {
      try reader.integer("n", default: 0, in: 0...9)
    }
    #expect(error.message == "n is ${env:A}; allowed: a whole number from 0 to 9")
  }
}
