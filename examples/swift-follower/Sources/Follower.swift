import Feed
import FeedClient
@preconcurrency import Foundation

/// Follows all feeds, and prints what an app with a diffable data source would do.
///
///     swift run Follower SERVERS
@main
struct Follower {
  static func main() async {
    guard let servers = CommandLine.arguments.dropFirst().first else {
      print("usage: Follower SERVERS")
      exit(2)
    }
    do {
      try await follow(servers)
    } catch {
      // A permanent error, such as a missing topic or missing access rights.
      FileHandle.standardError.write(Data("Follower: \(error)\n".utf8))
      exit(1)
    }
  }

  static func follow(_ servers: String) async throws {
    // Prints each line at once, also to a file or a pipe.
    setvbuf(stdout, nil, _IOLBF, 0)
    let options = FeedClientOptions(kafka: ["bootstrap.servers": servers])
    // The client waits for unavailable brokers; this reports them.
    let client = FeedClient(options) { level, _, message in
      if level <= .warning { print("kafka: \(message)") }
    }

    signal(SIGINT, SIG_IGN)
    let interrupt = DispatchSource.makeSignalSource(signal: SIGINT)
    interrupt.setEventHandler { client.stop() }
    interrupt.resume()

    async let running: Void = client.run()
    async let _: Void = tellWhenUpToDate(client)
    for try await update in client.updates() { print(try lines(update).joined(separator: "\n")) }
    try await running
  }

  static func tellWhenUpToDate(_ client: FeedClient) async {
    if await client.waitUntilUpToDate() { print("everything that is published so far was read") }
  }

  /// A change as calls of `UICollectionViewDiffableDataSource`, and the resulting list.
  static func lines(_ update: FeedUpdate) throws -> [String] {
    var lines: [String] = []
    switch update {
    case .present(let content, _):
      lines.append("\(update.feed), revision \(content.description.revision): applySnapshotUsingReloadData")
    case .changed(let changeset, _):
      let change = changeset.change
      let call = change.mode == .reload ? "applySnapshotUsingReloadData" : "apply, with animation"
      lines.append("\(update.feed), revision \(change.revision): \(call)")
      if let difference = change.difference {
        lines += line("reconfigureItems", difference.items.reconfigures.map(\.id))
        lines += line("reloadItems", difference.items.reloads.map(\.id))
        lines += line("reloadSections", difference.sections.reloads.map(\.id))
        // A diffable data source has no call for this: reconfigure the header if it is on screen.
        lines += line("new data of sections", difference.sections.reconfigures.map(\.id))
      }
    case .mustRefetch(_, _, let reason):
      lines.append("\(update.feed) is old until its next reload: \(reason)")
    case .absent:
      lines.append("\(update.feed) is gone")
    }
    guard let snapshot = update.snapshot else { return lines }
    for section in snapshot.sectionIdentifiers {
      let items = try snapshot.itemIdentifiers(inSection: section)
      lines.append("  \(section) has \(items.isEmpty ? "nothing" : text(items))")
    }
    return lines
  }

  static func line(_ call: String, _ identifiers: [some CustomStringConvertible]) -> [String] {
    identifiers.isEmpty ? [] : ["  \(call): \(text(identifiers))"]
  }

  static func text(_ identifiers: [some CustomStringConvertible]) -> String {
    identifiers.map(\.description).joined(separator: ", ")
  }
}
