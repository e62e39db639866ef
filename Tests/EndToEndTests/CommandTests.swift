import Foundation
import Testing

/// What the built command does not do, and how it says so.
final class CommandTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("feedstore-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Runs it beside a file of one record, which must stay as it is.
  private func refusal(_ arguments: String...) throws -> String {
    let file = folder.appendingPathComponent("news.ndjson")
    let content = Data((#"{"key":"f","ts":0,"value":{"op":"section.upsert","section":"s"}}"# + "\n").utf8)
    try content.write(to: file)
    let run = try CommandRun(arguments, in: folder)
    #expect(run.exitCode == 2)
    #expect(run.output == "")
    #expect(try Data(contentsOf: file) == content)
    return run.error
  }

  @Test(arguments: ["--output", "--rejected"])
  func `replay does not write what it reads`(option: String) throws {
    let message = "\(option) is news.ndjson, which is also read; name another file"
    #expect(try refusal("replay", "news.ndjson", option, "news.ndjson") == "feedstore: \(message)\n")
  }

  @Test(arguments: [
    ("kafka.foo=1", #"set the property foo = "1""#),
    ("kafka.session.timeout.ms=abc", #"set the property session.timeout.ms = "abc""#),
  ])
  func `what librdkafka does not take is refused before anything is said to be there`(
    setting: String,
    what: String
  ) throws {
    let refusal = try refusal("run", "--embedded", "--set", setting)
    #expect(refusal.contains("feedstore: could not \(what)"))
    #expect(refusal.contains("CONFIGURATION.md"))
  }

  @Test func `an address for HTTP that is none is named by its key, and nothing is said to be there`() throws
  {
    let refusal = try refusal(
      "run",
      "--embedded",
      "--set",
      "http.enabled=true",
      "--set",
      "http.address=localhost"
    )
    #expect(refusal.contains("feedstore: http.address: "))
    #expect(!refusal.contains("http.tokenFile"))
  }

  @Test func `demo does not write its history and play a file`() throws {
    let message =
      "unexpected argument 'news.ndjson' with --write, which writes the made-up history; leave out one of them"
    let refusal = try refusal("demo", "news.ndjson", "--write", "news.ndjson")
    #expect(refusal == "feedstore: \(message)\n")
  }
}
