import FoundationEssentials
import Testing

@testable import Diagnostics

/// The format of lines, which no text can break.
struct LogLineTests {
  private func written(
    _ format: LogFormat,
    _ message: String,
    _ fields: LogFields = [:],
    repeated: Int = 0
  ) -> String {
    LogLine(event: .inputError, message: message, fields: fields)
      .written(format, milliseconds: 0, repeated: repeated)
  }

  /// The members of a JSON line.
  private func members(
    _ message: String,
    _ fields: LogFields = [:],
    repeated: Int = 0
  ) throws -> [String: Member] {
    let line = written(.json, message, fields, repeated: repeated)
    #expect(!line.contains { $0.isNewline })
    return try JSONDecoder().decode([String: Member].self, from: Data(line.utf8))
  }

  private enum Member: Decodable, Equatable {
    case text(String)
    case number(Double)
    case boolean(Bool)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let value = try? container.decode(Bool.self) {
        self = .boolean(value)
      } else if let value = try? container.decode(Double.self) {
        self = .number(value)
      } else {
        self = .text(try container.decode(String.self))
      }
    }
  }

  /// Everything below 0x180, line separators, directional controls, and characters outside the basic plane.
  private static let hostile =
    (0..<0x180).compactMap(Unicode.Scalar.init).map(String.init).joined()
    + "\u{2028}\u{2029}\u{200E}\u{200F}\u{061C}\u{202A}\u{202E}\u{2066}\u{2069}\u{FEFF}\u{FFFD}\u{1F600}\u{10FFFF}"

  @Test func `text in JSON is unchanged`() throws {
    let members = try members(Self.hostile, ["a": Self.hostile, "b": ""])
    #expect(members["message"] == .text(Self.hostile))
    #expect(members["a"] == .text(Self.hostile))
    #expect(members["b"] == .text(""))
    #expect(members["time"] == .text("1970-01-01T00:00:00.000Z"))
    #expect(members["level"] == .text("error"))
    #expect(members["event"] == .text("input.error"))
  }

  @Test(arguments: LogFormat.allCases)
  func `no text can control a terminal or end a line`(format: LogFormat) {
    let line = written(format, Self.hostile, ["a": Self.hostile])
    for scalar in line.unicodeScalars {
      #expect(scalar.value >= 0x20 && scalar.value != 0x7F && !(0x80..<0xA0).contains(scalar.value))
      #expect(![0x2028, 0x2029, 0x200E, 0x202E, 0x2066].contains(scalar.value))
    }
  }

  @Test func `bytes that are not UTF-8 become replacement characters`() throws {
    let text = String(decoding: [0x61, 0xFF, 0xC3, 0xED, 0xA0, 0x80, 0x62] as [UInt8], as: UTF8.self)
    let members = try members("", ["a": text])
    #expect(members["a"] == .text(text))
    #expect(text.hasPrefix("a\u{FFFD}") && text.hasSuffix("b"))
  }

  @Test func `numbers and booleans are not strings in JSON`() throws {
    let members = try members(
      "",
      [
        "small": -1, "large": UInt64.max, "half": 0.5, "tiny": 1e-20, "huge": 1e300, "yes": true, "no": false,
        "digits": "12", "none": Double.nan, "endless": -Double.infinity,
      ]
    )
    #expect(members["small"] == .number(-1))
    #expect(members["large"] == .number(Double(UInt64.max)))
    #expect(members["half"] == .number(0.5))
    #expect(members["tiny"] == .number(1e-20))
    #expect(members["huge"] == .number(1e300))
    #expect(members["yes"] == .boolean(true))
    #expect(members["no"] == .boolean(false))
    #expect(members["digits"] == .text("12"))
    #expect(members["none"] == .text("nan"))
    #expect(members["endless"] == .text("-inf"))
  }

  @Test func `a figure is formatted in text, and a number with its unit in JSON`() throws {
    let fields: LogFields = [
      "state": LogFigure.bytes(3_400_000), "bytes": LogFigure.bytes(5),
      "rate": LogFigure.bytesPerSecond(1_500), "wait": LogFigure.duration(milliseconds: 1_500),
      "inARow": LogFigure.count(3),
    ]
    #expect(
      written(.text, "x", fields).hasSuffix(
        #"x event=input.error state="3.4 MB" bytes="5 B" rate="1.5 kB/s" wait="1.50 s" inARow=3"#
      )
    )
    let members = try members("x", fields)
    #expect(members["stateBytes"] == .number(3_400_000))
    #expect(members["bytes"] == .number(5))
    #expect(members["rateBytesPerSecond"] == .number(1_500))
    #expect(members["waitMilliseconds"] == .number(1_500))
    #expect(members["inARow"] == .number(3))
    #expect(LogFigure.duration(milliseconds: .max).number == "\(Int64.max)")
  }

  @Test func `a value that is not a plain word is quoted in text`() {
    let line = written(
      .text,
      "a\nb\u{1B}[2J",
      [
        "empty": "", "space": "a b", "quote": "a\"\\", "line": "a\r\n\u{2028}b", "equals": "a=b",
        "word": "é/1",
      ]
    )
    #expect(
      line.hasSuffix(
        #" a\nb\u{1b}[2J event=input.error empty="" space="a b" quote="a\"\\" line="a\r\n\u{2028}b" equals="a=b" word=é/1"#
      )
    )
  }

  @Test func `a name occurs once in an object`() throws {
    let members = try members("x", ["time": 1, "event": 2, "a": 3, "a": 4, "repeated": 5], repeated: 6)
    #expect(members["time"] == .text("1970-01-01T00:00:00.000Z"))
    #expect(members["time_"] == .number(1))
    #expect(members["event_"] == .number(2))
    #expect(members["a"] == .number(3))
    #expect(members["a_"] == .number(4))
    #expect(members["repeated"] == .number(6))
    #expect(members["repeated_"] == .number(5))
  }

  @Test(arguments: LogFormat.allCases, ["a", "\u{1}", "\u{1F600}", "\""])
  func `a line has a maximum length, and is well-formed`(format: LogFormat, character: String) throws {
    let long = String(repeating: character, count: 100_000)
    let fields: LogFields = ["a": long, "b": long, "c": long, "d": long, "e": 1]
    let line = written(format, long, fields, repeated: 7)
    #expect(line.utf8.count <= LogText.longestLine)
    #expect(line.utf8.count > LogText.longestLine / 2)
    #expect(line.contains("…"))
    if format == .text { return #expect(line.hasSuffix(" truncated=true")) }
    let members = try members(long, fields, repeated: 7)
    #expect(members["truncated"] == .boolean(true))
    #expect(members["repeated"] == .number(7))
    guard case .text(let kept)? = members["a"] else { throw CancellationError() }
    #expect(kept.hasSuffix("…") && long.hasPrefix(kept.dropLast()))
  }
}
