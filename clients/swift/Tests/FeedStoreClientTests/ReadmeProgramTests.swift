import Foundation
import Testing

@Suite(.enabled(if: Checkout.hasCommand), .timeLimit(.minutes(10))) struct ReadmeProgramTests {
  @Test func `the programs of the README print what it says`() async throws {
    let daemon = try await Daemon(servers: nil)
    defer { daemon.program.kill() }
    let list = try #require(try Readme.blocks("swift program").first)
    let edits = try Readme.blocks("swift client")
    #expect(edits.count == 4)
    let printed = try Readme.blocks("text printed")
    try #require(printed.count == 2)
    // Its output is read through a pipe, before it ends.
    let flushed = list.replacingOccurrences(of: "\n  }\n}", with: "\n    fflush(nil)\n  }\n}")
    for (code, printed) in zip([flushed, edits.joined(separator: "\n")], printed) {
      #expect(try await lines(of: code, daemon, printed.split(separator: "\n").count) == printed)
    }
  }

  /// Compiles a program without a warning; the first lines that it prints.
  private func lines(of code: String, _ daemon: Daemon, _ count: Int) async throws -> String {
    let program = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: program) }
    let folder = Readme.products.appendingPathComponent("FeedStoreClient.build")
    let objects = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".o")
    }
    let messages = try Readme.compile(
      code.replacingOccurrences(of: "http://127.0.0.1:8321", with: daemon.url.absoluteString),
      objects.map { folder.appendingPathComponent($0).path } + ["-o", program.path]
    )
    #expect(messages == "")
    let run = try Program(program, [])
    defer { run.kill() }
    return await run.lines.prefix(count).reduce(into: "") { $0 += $1 + "\n" }
  }
}
