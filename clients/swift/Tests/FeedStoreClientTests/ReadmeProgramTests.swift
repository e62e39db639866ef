import Foundation
import Testing

@Suite(.enabled(if: Checkout.hasCommand), .timeLimit(.minutes(10))) struct ReadmeProgramTests {
  @Test func `the program of the README prints what it says`() async throws {
    let daemon = try await Daemon(servers: nil)
    defer { daemon.program.kill() }
    let code = try #require(try Readme.blocks("swift program").first)
    let program = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: program) }
    let folder = Readme.products.appendingPathComponent("FeedStoreClient.build")
    let objects = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
      $0.hasSuffix(".o")
    }
    let messages = try Readme.compile(
      // What it prints is read through a pipe.
      code.replacingOccurrences(of: "http://127.0.0.1:8321", with: daemon.url.absoluteString)
        .replacingOccurrences(of: "\n  }\n}", with: "\n    fflush(nil)\n  }\n}"),
      objects.map { folder.appendingPathComponent($0).path } + ["-o", program.path]
    )
    #expect(messages == "")
    let run = try Program(program, [])
    defer { run.kill() }
    let printed = try #require(try Readme.blocks("text printed").first)
    #expect(try await run.line(with: "3 of 4") + "\n" == printed)
  }

  @Test func `the other blocks of the README compile`() throws {
    let blocks = try Readme.blocks("swift client")
    #expect(blocks.count == 4)
    for block in blocks {
      let code =
        "import FeedStoreClient\nimport Foundation\n\nstruct Session { func token() async throws -> String { \"\" } }\n"
        + "func example(_ feed: Feed, _ session: Session) async throws {\n\(block)\n}\n"
      let messages = try Readme.compile(code, ["-typecheck"])
      #expect(!messages.contains("error:"), "\(messages)")
    }
  }
}
