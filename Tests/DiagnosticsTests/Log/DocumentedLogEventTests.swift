import Diagnostics
import FoundationEssentials
import Synchronization
import Testing

/// docs/log.md and the schema of log lines have every event that a module declares, and every event is used.
struct DocumentedLogEventTests {
  private static let package = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: URL(filePath: "\(package)/\(path)"), encoding: .utf8)
  }

  private struct Event: Hashable {
    let name, level: String
  }

  /// The source files, and the events that they declare, by their members of `LogEvent`.
  private let sources: [(path: String, text: String)]
  private let declared: [(member: String, event: Event)]
  private var names: Set<String> { Set(declared.map(\.event.name)) }

  init() throws {
    sources = try FileManager.default.subpathsOfDirectory(atPath: "\(Self.package)/Sources")
      .filter { $0.hasSuffix(".swift") }.map { ($0, try Self.text("Sources/\($0)")) }
    declared = sources.filter { $0.path.hasSuffix("/LogEvents.swift") }.flatMap { _, text in
      text.matches(of: /static let (\w+) = LogEvent\(\s*\.(\w+),\s*"([^"]+)"/).map {
        (String($0.1), Event(name: String($0.3), level: String($0.2)))
      }
    }
  }

  @Test func `names are unique, and lower-case words with dots and hyphens`() {
    for name in names {
      #expect(name.wholeMatch(of: /[a-z]+(\.[a-z]+(-[a-z]+)*)+/) != nil, "\(name)")
    }
    #expect(names.count == declared.count)
  }

  @Test func `the table of log messages has every declared event with its level, and no other`() throws {
    let page = try Self.text("docs/log.md")
    let rows = page.matches(of: /(?m)^\| `([a-z]+\.[a-z.-]+)` \| ([a-z]+) \| [^|]+ \| [^|]+ \|$/)
      .map { Event(name: String($0.1), level: String($0.2)) }
    #expect(Set(rows) == Set(declared.map(\.event)))
    #expect(rows.count == declared.count)
  }

  @Test func `names in the page that look like events are events`() throws {
    let areas = Set(names.map { $0.prefix { $0 != "." } })
    for match in try Self.text("docs/log.md").matches(of: /`([a-z]+)(\.[a-z.]*-[a-z.-]+)`/)
    where areas.contains(match.1) {
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
    #expect(Set(schema.properties.event.enum) == names)
    #expect(schema.properties.event.enum.count == names.count)
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

  @Test func `every event is used, and declared in the file of its module`() {
    var used: Set<String> = []
    var declarations = 0
    for (path, text) in sources where !path.hasSuffix("/LogEvent.swift") {
      used.formUnion(text.matches(of: /\.([a-z][A-Za-z]+)/).map { String($0.1) })
      if path.hasSuffix("/LogEvents.swift") { declarations += text.ranges(of: "LogEvent(").count }
      #expect(path.hasSuffix("/LogEvents.swift") || !text.contains("LogEvent("), "\(path)")
    }
    for (member, event) in declared { #expect(used.contains(member), "\(event.name)") }
    #expect(declarations == declared.count)
  }
}
