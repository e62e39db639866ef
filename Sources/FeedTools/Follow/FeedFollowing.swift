package import Diagnostics
package import Feed
import FeedClient
package import FeedConfiguration
package import OperatingSystem

/// `feedstore follow`: prints the changesets of feeds as they arrive, or their current state.
package struct FeedFollowing: Sendable {
  /// The output format.
  package enum Form: Sendable, Equatable {
    /// One readable line for each update.
    case lines(isColoured: Bool)
    /// Changesets in their form on the topic, one per line, with their partition.
    case json
    /// One feed, redrawn in place after each update; if several partitions have its id, one below the other.
    case screen
  }

  package var configuration: FeedStoreConfiguration
  /// The feeds to follow; empty for all.
  package var feeds: [String] = []
  /// The window of the feeds; nil for everything. Requires the feeds' ids.
  package var window: FeedWindow?
  package var form: Form
  /// Whether to print every changeset that is still in the topic, instead of the state at the beginning.
  package var beginsWithHistory = false
  package var stop: StopRequest
  package var log: Log
  /// Writes text; returns false if the reader has closed the output.
  package var write: @Sendable (String) -> Bool
  /// When printing the state, the maximum time without a record from the topic.
  var patienceMilliseconds = FollowSession.patienceMilliseconds

  package init(
    _ configuration: FeedStoreConfiguration,
    form: Form,
    stop: StopRequest,
    log: Log,
    write: @escaping @Sendable (String) -> Bool
  ) {
    self.configuration = configuration
    self.form = form
    self.stop = stop
    self.log = log
    self.write = write
  }

  private var names: [String]? { feeds.isEmpty ? nil : feeds }

  /// Prints updates until a stop is requested or the output is closed.
  ///
  /// - Throws: ``ConfigurationError``; `FeedClientError`.
  package func run() async throws {
    let session = try FollowSession(configuration, stop: stop, log: log)
    // The only subscriber; it needs every changeset.
    let options = SubscriptionOptions(
      slowPolicy: .pausesReading,
      hasSnapshots: form == .screen,
      hasDifferences: false,
      beginsWithHistory: beginsWithHistory
    )
    let updates =
      window.map { session.client.updates(of: feeds, window: $0, options) }
      ?? session.client.updates(of: names, options)
    if form == .screen { _ = write(TerminalScreen.enter) }
    defer { if form == .screen { _ = write(TerminalScreen.leave) } }
    try await session.run { _ in
      var shown: [Int32?: FeedUpdate] = [:]
      for try await update in updates {
        if form == .screen {
          // Lists the partitions instead of reporting an unknown feed.
          shown[update.partition] = update
          if shown.count > 1 { shown[nil] = nil }
        }
        guard write(text(of: update, Array(shown.values))) else { return }
      }
    }
  }

  /// - Parameter shown: the latest update of each partition, for the screen.
  private func text(of update: FeedUpdate, _ shown: [FeedUpdate]) -> String {
    switch form {
    case .lines(let isColoured): return UpdateText(isColoured: isColoured).line(update) + "\n"
    case .json: return UpdateJSON.lines(update)
    case .screen:
      let rows = StandardOutput.rows / max(1, shown.count)
      return TerminalScreen.draw(
        shown.sorted { $0.partition ?? 0 < $1.partition ?? 0 }
          .map { ScreenFrame($0, columns: StandardOutput.columns, rows: rows) },
        isColoured: StandardOutput.hasColours
      )
    }
  }

  /// Prints the current state of the feeds, even if it is outdated.
  ///
  /// - Returns: the problems, in words: requested feeds that do not exist, and outdated ones.
  /// - Throws: ``ConfigurationError``; `FeedClientError`; ``StoppedEarly``, or ``DaemonError`` if the brokers send
  ///   nothing, without printing anything.
  package func printSnapshot() async throws -> [String] {
    let session = try FollowSession(configuration, stop: stop, log: log)
    return try await session.readOnce(patienceMilliseconds: patienceMilliseconds) { client in
      let contents =
        names?.flatMap { name in
          client.partitions(of: name).compactMap { client.content(of: name, in: $0) }
            .map { content in window.map { content.shown(in: $0) } ?? content }
        } ?? client.contents()
      let ids = names.map { Set($0.map { ByteText($0) }) }
      let lost = client.feedsWithoutContent().filter { ids?.contains(ByteText($0.feed)) != false }
      let updates = contents.map { FeedUpdate.present($0, passedOver: 0) } + lost
      for update in updates { _ = write(stateText(of: update)) }
      let known = Set(updates.map { ByteText($0.feed) })
      return (names ?? []).filter { !known.contains(ByteText($0)) }.map {
        "there is no feed \($0.debugDescription)"
      }
        + updates.compactMap(Self.outdated)
    }
  }

  /// A message if a feed is outdated.
  private static func outdated(_ update: FeedUpdate) -> String? {
    let reason: String? =
      switch update {
      case .present(let content, _): content.description.outdated
      case .mustRefetch(_, _, let reason): reason
      case .changed, .absent: nil
      }
    let name = FollowLine.name(update.feed.debugDescription, in: update.partition)
    return reason.map { "feed \(name) is outdated until its next reload: \($0)" }
  }

  private func stateText(of update: FeedUpdate) -> String {
    guard case .lines = form else { return UpdateJSON.lines(update) }
    return ScreenFrame(update, columns: .max, rows: .max).lines.map { $0.text + "\n" }.joined()
  }
}
