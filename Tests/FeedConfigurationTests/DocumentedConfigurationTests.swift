import FeedConfiguration
import FeedKafka
import FeedTestSupport
import Foundation
import Kafka
import Oracle
import Settings
import Testing

/// The shipped file and the pages have the keys and fields as they are declared. `FEEDSTORE_UPDATE_GOLDEN=1` rewrites
/// their comments, defaults and sentences.
@Suite struct DocumentedConfigurationTests {
  private static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }
  private static let declarations = FeedStoreConfiguration.declarations

  @Test func `the shipped file has every key with its sentence and default`() throws {
    let file = "\(Self.root)/config/feedstore.json5"
    let keys = Self.declarations.filter { $0.value != nil }
    let names = Dictionary(uniqueKeysWithValues: keys.map { ($0.name, $0) })
    var (lines, path, listed): ([String], [String], [String]) = ([], [], [])
    for line in try Self.lines(of: file) {
      let parts = line.trimmingPrefix { $0 == " " }.split(separator: ":", maxSplits: 1)
      let name = (path + parts.prefix(1).map(String.init)).joined(separator: ".")
      if line.hasSuffix("},") { path.removeLast() }
      if line.hasSuffix(": {") { path.append(String(parts[0])) }
      guard let key = names[name] else {
        lines.append(String(line))
        continue
      }
      while lines.last?.contains("// ") == true { lines.removeLast() }
      let indentation = String(line.prefix { $0 == " " })
      lines += Self.comment(key).map { "\(indentation)// \($0)" }
      lines.append("\(indentation)\(parts[0]): \(try #require(key.value?.json)),")
      listed.append(name)
    }
    #expect(listed.sorted() == keys.map(\.name).sorted())
    try Self.expect(file, lines)
    #expect(try ConfigurationSources(file: file).load().configuration == FeedStoreConfiguration())
  }

  @Test func `the page has every key with its sentence and default`() throws {
    let names = Dictionary(uniqueKeysWithValues: Self.declarations.map { ($0.name, $0) })
    var listed: [String] = []
    let lines = try Self.lines(of: "\(Self.root)/docs/settings.md").map { line in
      let cells = line.split(separator: "`", maxSplits: 2)
      guard cells.first == "| ", let key = names[String(cells[1])] else { return String(line) }
      listed.append(key.name)
      #expect(!key.sentence.isEmpty, "\(key.name) has no sentence")
      let json = key.value?.json ?? ""
      let text = json == "\"\"" ? json : json.replacing("\"", with: "")
      let value = json.isEmpty ? "" : Double(json) == nil ? " `\(text)`" : " \(json)"
      return "| `\(key.name)` |\(value) | \(key.sentence) |"
    }
    #expect(listed.sorted() == Self.declarations.map(\.name).sorted())
    try Self.expect("\(Self.root)/docs/settings.md", lines)
  }

  @Test(arguments: [IngestSource.table, IngestOrderKey.table, IngestTest.table])
  func `the page of ingest has the fields of a mapping as they are declared`(_ table: String) throws {
    let page = try Self.lines(of: "\(Self.root)/docs/ingest.md").joined(separator: "\n")
    let head = "\n| field | values | default | meaning |\n|---|---|---|---|\n"
    #expect(page.contains(head + table + "\n\n"), "docs/ingest.md must have this table:\n\(table)")
  }

  @Test func `the page of running has the defaults that determine recovery times`() throws {
    let settings = try KafkaSettings([ConfigurationPair(name: "bootstrap.servers", value: "host:9092")])
    let worker = WorkerIdentity(number: 0, count: 1, process: ProcessIdentity(group: "documented"))
    let clients = [settings.member(worker), settings.transactionalProducer(worker, slowInARow: 0)]
    var names: [String] = []
    for line in try Self.lines(of: "\(Self.root)/docs/run.md") {
      guard let row = line.wholeMatch(of: /\| (`kafka\.[^|]+) \| ([0-9]+) \| .+/) else { continue }
      for name in row.1.matches(of: /`kafka\.([a-z.]+)`/).map({ String($0.1) }) {
        let defaults = clients.compactMap { $0[name] } + ["\(settings.maxPollMilliseconds)"]
        #expect(defaults[0] == row.2, "kafka.\(name)")
        names.append(name)
      }
    }
    #expect(names.count >= 8)
  }

  /// A key's sentence and its allowed values, without links, in lines that fit.
  private static func comment(_ key: ConfigurationKey) -> [String] {
    var sentence = key.sentence.prefix(1).uppercased() + key.sentence.dropFirst()
    sentence.replace(#/\[(.+?)\]\((.+?)(?:#.*?)?\)/#) { $0.2 == "http.md" ? $0.1 : "\($0.1) (docs/\($0.2))" }
    let range = key.allowed.split(separator: " (")[0].replacing(" to 9007199254740991", with: " or more")
    for kind in ["a whole number from ", "a finite number, ", "one of "] where range.hasPrefix(kind) {
      let isLong = sentence.contains("; ") || sentence.contains(". ")
      sentence += (isLong ? ". Allowed: " : "; ") + range.dropFirst(kind.count)
    }
    return "\(sentence).".split(separator: " ").reduce(into: [""]) { lines, word in
      if lines[lines.count - 1].count + word.count > 110 { lines.append("") }
      lines[lines.count - 1] += lines[lines.count - 1].isEmpty ? word : " \(word)"
    }
  }

  private static func lines(of file: String) throws -> [Substring] {
    let text = try String(decoding: readFile(file), as: UTF8.self)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  private static func expect(_ file: String, _ lines: [String]) throws {
    let text = lines.joined(separator: "\n")
    if ProcessInfo.processInfo.environment["FEEDSTORE_UPDATE_GOLDEN"] != nil {
      try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    }
    let found = try Self.lines(of: file).joined(separator: "\n")
    #expect(found == text, "FEEDSTORE_UPDATE_GOLDEN=1 rewrites \(file)")
  }
}
