import Foundation
import Testing

@testable import FeedStoreClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Reads updates until one fits.
func firstUpdate(
  _ updates: FeedUpdates.Iterator,
  _ what: Comment = "",
  where fits: (FeedUpdate) throws -> Bool
) async throws -> FeedUpdate {
  while let update = await updates.next() { if try fits(update) { return update } }
  throw TestEnded(what: "\(what)")
}

struct TestEnded: Error { let what: String }

/// A program whose lines are read as they come.
final class Program: @unchecked Sendable {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  let lines: AsyncStream<String>

  init(_ executable: URL, _ arguments: [String], readsErrors: Bool = false) throws {
    process.executableURL = executable
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = readsErrors ? FileHandle.nullDevice : output
    process.standardError = readsErrors ? output : FileHandle.nullDevice
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    self.lines = lines
    let reader = output.fileHandleForReading
    try process.run()
    // A process that ends its children with itself is not portable, so tests call `close`.
    Thread.detachNewThread {
      var rest = Data()
      while true {
        let data = reader.availableData
        if data.isEmpty { break }
        rest += data
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
          continuation.yield(String(decoding: rest[rest.startIndex..<end], as: UTF8.self))
          rest = Data(rest[(end + 1)...])
        }
      }
      continuation.finish()
    }
  }

  func type(_ line: String) { input.fileHandleForWriting.write(Data("\(line)\n".utf8)) }

  func kill(_ signal: Int32 = SIGKILL) {
    _ = Foundation.kill(process.processIdentifier, signal)
    process.waitUntilExit()
  }

  func wait() -> Int32 {
    process.waitUntilExit()
    return process.terminationStatus
  }

  /// Reads lines until one has a text.
  func line(with text: String) async throws -> String {
    for await line in lines where line.contains(text) { return line }
    throw TestEnded(what: "a line with \(text)")
  }
}

/// `feedstore run` with HTTP and writes, on a cluster that stands in or with a broker of its own.
struct Daemon {
  let program: Program
  let url: URL

  init(servers: String?, port: Int = 0) async throws {
    var settings = [
      "http.enabled": "true", "http.port": "\(port)", "http.writes.enabled": "true", "coalesce.window": "20",
      "kafka.session.timeout.ms": "6000",
    ]
    settings["kafka.bootstrap.servers"] = servers
    let arguments = settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
    program = try Program(
      Checkout.feedstore,
      ["run"] + (servers == nil ? ["--embedded"] : []) + arguments,
      readsErrors: true
    )
    let line = try await program.line(with: "serving HTTP")
    let address = try #require(line.components(separatedBy: "url=").last?.split(separator: " ").first)
    url = try #require(URL(string: String(address)))
  }

  func document(_ feed: String) async throws -> String {
    let (data, _) = try await URLSession.shared.data(from: url.appendingPathComponent("v1/feeds/\(feed)"))
    var replica = Replica(FeedID(feed))
    _ = try replica.apply(String(decoding: data, as: UTF8.self))
    return replica.view.state.document
  }
}

/// Writes until the daemon takes it: it may have been restarted.
private func insist(_ feed: Feed, _ event: FeedEvent) async throws {
  while true {
    do {
      try await feed.write(event)
      return
    } catch is WriteFailed {
      // It waits for the standing to change, which says that the daemon is there again.
      for await update in feed.updates where update.view.standing == .live { break }
    }
  }
}

@Suite(.enabled(if: Checkout.hasStandIn), .timeLimit(.minutes(10)), .serialized) struct DaemonTests {
  @Test func `a daemon that is killed and restarted loses nothing`() async throws {
    let python = URL(fileURLWithPath: "/usr/bin/env")
    let cluster = try Program(
      python,
      ["PYTHONUNBUFFERED=1", "python3", Checkout.root.appendingPathComponent("Tests/StandInCluster").path]
    )
    defer { cluster.kill() }
    let line = try await cluster.line(with: "bootstrap.servers=")
    let servers = try #require(
      line.components(separatedBy: "bootstrap.servers=").last?.components(separatedBy: ", ").first
    )
    let topics = try Program(
      Checkout.feedstore,
      ["topics", "--create", "--partitions", "2", "--set", "kafka.bootstrap.servers=\(servers)"]
    )
    #expect(topics.wait() == 0)
    var daemon = try await Daemon(servers: servers)
    defer { daemon.program.kill() }

    let store = FeedStore(daemon.url)
    let (whole, first) = (store.feed("f"), store.feed("f", .first(3)))
    let (wholeUpdates, firstUpdates) = (whole.updates.makeAsyncIterator(), first.updates.makeAsyncIterator())
    var records = RandomRecords(random: SeededRandom("kills"), feeds: ["f"])
    for round in 0..<3 {
      for _ in 0..<40 {
        // Random events may be rejected.
        do { try await whole.write([FeedEvent(json: records.event())], wait: 0) } catch is WriteRejected {
        } catch is WriteFailed {}
      }
      // In the midst of writes, whose fate is open.
      async let open: Written? = try? whole.write(.upsert("open\(round)", section: "end", data: 1))
      daemon.program.kill()
      _ = await open
      daemon = try await Daemon(servers: servers, port: daemon.url.port ?? 0)
      _ = try await firstUpdate(wholeUpdates) { $0.view.standing == .live }
      try await insist(
        whole,
        .upsert("end\(round)", section: "end", data: ["round": .integer(round)], at: .first)
      )
      for updates in [wholeUpdates, firstUpdates] {
        let id = ItemID("end\(round)")
        let update = try await firstUpdate(updates) {
          $0.view.item(id) != nil && !$0.view.isPending && $0.view.standing == .live
        }
        #expect(FeedState.checksum(of: update.view.sections) == update.view.state.checksum)
      }
    }
    let document = try await daemon.document("f")
    #expect(whole.view.state.document == document)
    // The window is the beginning of each section.
    for (shown, section) in zip(first.view.sections, whole.view.sections) {
      #expect(shown.id == section.id)
      #expect(shown.items.map(\.id) == section.items.prefix(3).map(\.id))
      #expect(shown.of == section.items.count)
    }
    #expect(first.view.sections.count == whole.view.sections.count)
  }

  @Test func `a tap shows five items or all, and a tap on a star is seen by all`() async throws {
    let daemon = try await Daemon(servers: nil)
    defer { daemon.program.kill() }
    let store = FeedStore(daemon.url)
    let news = store.feed("news")
    // Until the daemon has its partitions, it answers that the write is on its way.
    for number in 0..<8 {
      let data: JSONValue = ["title": .string("Story \(number)")]
      try await news.write(.upsert(ItemID("s\(number)"), section: "top", kind: "story", data: data), wait: 30)
    }
    let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let list = try Program(
      folder.appendingPathComponent("TapToShowAll"),
      [daemon.url.absoluteString, "news"]
    )
    let stars = try Program(folder.appendingPathComponent("TapAStar"), [daemon.url.absoluteString, "news"])
    defer {
      list.kill()
      stars.kill()
    }
    _ = try await list.line(with: "top: 5 of 8")
    #expect(try await list.line(with: "Story 4").contains("Story 4"))
    list.type("")
    _ = try await list.line(with: "top: 8 of 8")
    list.type("")
    _ = try await list.line(with: "top: 5 of 8")
    _ = try await stars.line(with: "☆ Story 0")
    stars.type("s0")
    _ = try await stars.line(with: "★ Story 0 …")
    // Confirmed.
    while try await stars.line(with: "★ Story 0").hasSuffix("…") {}
    let updates = news.updates.makeAsyncIterator()
    _ = try await firstUpdate(updates) { $0.view.item("s0")?.data["starred"]?.bool == true }
    stars.type("s0")
    _ = try await firstUpdate(updates) { $0.view.item("s0")?.data["starred"]?.bool == false }

    // A second window needs no second stream: the programs have one each.
    let windowed = store.feed("news", .first(2)).updates.makeAsyncIterator()
    _ = try await firstUpdate(windowed) { $0.view.standing == .live && $0.view.itemCount == 2 }
    let (status, _) = try await URLSession.shared.data(from: daemon.url.appendingPathComponent("v1/status"))
    #expect(try JSONValue(text: String(decoding: status, as: UTF8.self))["http"]?["streams"]?.integer == 3)
    var snapshot = news.snapshot
    try snapshot.moveItem("s7", beforeItem: "s0")
    snapshot.deleteItems(["s3"])
    let applied = try await news.apply(snapshot)
    #expect(applied != nil)
    for shown in [updates, windowed] {
      _ = try await firstUpdate(shown) { $0.view.sections[0].items[0].id == "s7" && !$0.view.isPending }
    }
    #expect(news.view.sections[0].items.map(\.id) == ["s7", "s0", "s1", "s2", "s4", "s5", "s6"])
    let again = try await news.apply(snapshot)
    #expect(again == nil)
  }
}
