import FoundationEssentials
import Service
import Synchronization
import Testing

/// docs/log.md and the schema of log lines have every event, and every event is used.
struct DocumentedLogEventTests {
  private static let package = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: URL(filePath: "\(package)/\(path)"), encoding: .utf8)
  }

  @Test func `names are unique, and lower-case words with dots and hyphens`() {
    for event in LogEvent.allCases {
      #expect(event.name.wholeMatch(of: /[a-z]+(\.[a-z]+(-[a-z]+)*)+/) != nil, "\(event.name)")
    }
    #expect(Set(LogEvent.allCases.map(\.name)).count == LogEvent.allCases.count)
  }

  @Test func `the table of log messages has every event with its level, in order`() throws {
    let page = try Self.text("docs/log.md")
    let rows = page.matches(of: /(?m)^\| `([a-z]+\.[a-z.-]+)` \| ([a-z]+) \| [^|]+ \| [^|]+ \|$/)
    #expect(rows.map { String($0.1) } == LogEvent.allCases.map(\.name))
    #expect(rows.map { String($0.2) } == LogEvent.allCases.map(\.level.rawValue))
  }

  @Test func `names in the page that look like events are events`() throws {
    let areas = Set(LogEvent.allCases.compactMap { $0.name.split(separator: ".").first.map(String.init) })
    let names = Set(LogEvent.allCases.map(\.name))
    for match in try Self.text("docs/log.md").matches(of: /`([a-z]+)(\.[a-z.]*-[a-z.-]+)`/)
    where areas.contains(String(match.1)) {
      #expect(names.contains(String(match.1 + match.2)), "\(match.0)")
    }
  }

  @Test func `the schema of a line lists every event and every level`() throws {
    struct Schema: Decodable {
      struct Choice: Decodable { let `enum`: [String] }
      struct Properties: Decodable { let event, level: Choice }
      let properties: Properties
    }
    let text = try Self.text("docs/schemas/log-line.schema.json")
    let schema = try JSONDecoder().decode(Schema.self, from: Data(text.utf8))
    #expect(schema.properties.event.enum == LogEvent.allCases.map(\.name))
    #expect(schema.properties.level.enum == LogLevel.allCases.map(\.rawValue))
  }

  @Test(arguments: LogFormat.allCases)
  func `the sample line in the page is what the log writes`(format: LogFormat) throws {
    let lines = Mutex<[String]>([])
    var clocks = LogClocks()
    clocks.wall = { 1_795_168_800_250 }
    let output = DiagnosticOutput(isTerminal: false) { line in lines.withLock { $0.append(line) } }
    Log(format: format, output: output, clocks: clocks).with(["worker": 0]).write(
      .restoreFinished,
      "restored",
      [
        "feeds": 1_200, "state": LogFigure.bytes(3_400_000),
        "duration": LogFigure.duration(milliseconds: 1_200),
      ]
    )
    let line = try #require(lines.withLock { $0.first })
    #expect(try Self.text("docs/log.md").contains("\n\(line)```"), "\(line)")
  }

  @Test func `every event is used`() throws {
    let paths = try FileManager.default.subpathsOfDirectory(atPath: "\(Self.package)/Sources")
      .filter { $0.hasSuffix(".swift") && !$0.hasSuffix("/LogEvent.swift") }
    var used: Set<String> = []
    for path in paths {
      for match in try Self.text("Sources/\(path)").matches(of: /\.([a-z][A-Za-z]+)/) {
        used.insert(String(match.1))
      }
    }
    for event in LogEvent.allCases { #expect(used.contains("\(event)"), "\(event.name)") }
  }
}
