import Diagnostics
import Feed
import FeedTools
import Settings

/// `feedstore follow`: prints changes as they arrive.
enum FollowCommand: Subcommand {
  static let specification = CommandSpecification(
    "follow",
    summary: "Prints the changesets of feeds as they arrive.",
    discussion: """
      Reads topics.changesets, and prints the state of the feeds named (of all without a name) and then each \
      changeset: a line for people on a terminal, elsewhere JSON, which is the changesets as they are, after a \
      member partition. A state is a reload with the reason "keyframe". What is no changeset has the fields \
      partition, feed and error: absent (there is no such feed, or not any more) or must-refetch. The same id in \
      several partitions is a mistake of producers: each has a feed of its own, and a warning says so.

      With --screen, draws one feed in place and marks what happened to its elements: + inserted, \
      ↕ moved, ~ reconfigured, ! reloaded. There are no colours if NO_COLOR is set to any text or TERM is dumb.
      """,
    arguments: ArgumentSpecification("FEED", minimum: 0, help: "Ids of feeds; by default all feeds."),
    options: [
      .flag(
        "snapshot",
        help:
          "Prints the state and ends. Exits with 1 if a feed does not exist or is outdated, which its line says, "
          + "or if the brokers send nothing for 30 s."
      ),
      .value(
        "from",
        "WHEN",
        choices: ["beginning", "now"],
        help: "now (the default): the state, then changes; beginning: all the topic has."
      ),
      .repeated(
        "sections",
        "ID",
        help:
          "Only this section of each feed; repeat it for more. Needs the feeds' ids, and goes on from now."
      ),
      .value("first", "N", help: "Of each section only the first N items; otherwise like --sections."),
      .flag("json", help: "Prints JSON, also on a terminal."),
      .flag("screen", help: "Draws one feed in place."),
    ] + configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let log = CommandLog.make(configuration)
    let window = try window(invocation)
    let form = try form(invocation)
    var following = FeedFollowing(configuration, form: form, stop: orderlyStop(), log: log) {
      StandardOutput.write($0)
    }
    following.feeds = invocation.arguments
    following.window = window
    following.beginsWithHistory = invocation.value("from") == "beginning"
    guard invocation.flag("snapshot") else {
      try await following.run()
      return .done
    }
    let problems = try await following.printSnapshot()
    for problem in problems { DiagnosticOutput.standardError.write(line: "feedstore: \(problem)") }
    return problems.isEmpty ? .done : .failed
  }

  private static func window(_ invocation: CommandInvocation) throws(UsageError) -> FeedWindow? {
    let sections = invocation.values("sections")
    let first = invocation.value("first")
    if sections.isEmpty, first == nil { return nil }
    guard !invocation.arguments.isEmpty, invocation.value("from") != "beginning" else {
      throw UsageError(
        "--sections and --first show feeds as they are from now on; name the feeds, and leave out --from beginning"
      )
    }
    var extent = FeedWindow.Extent.all
    if let first {
      guard let count = Int32(first), count >= 0 else {
        throw UsageError("--first is \(first.debugDescription); expected a number of items, from 0")
      }
      extent = .first(Int(count))
    }
    return FeedWindow(sections: sections.isEmpty ? nil : sections, extent: extent)
  }

  private static func form(_ invocation: CommandInvocation) throws(UsageError) -> FeedFollowing.Form {
    guard invocation.flag("screen") else {
      guard StandardOutput.isTerminal, !invocation.flag("json") else { return .json }
      return .lines(isColoured: StandardOutput.hasColours)
    }
    guard invocation.arguments.count == 1, StandardOutput.isTerminal else {
      throw UsageError("--screen is for one feed on a terminal; name one, or leave it out")
    }
    guard StandardOutput.hasEscapes else {
      throw UsageError(
        "--screen needs a terminal that can move its cursor, and TERM is dumb or not set; leave it out, or set TERM"
      )
    }
    return .screen
  }
}

/// `feedstore inspect`: prints the state of a feed, or where a content is shown.
enum InspectCommand: Subcommand {
  static let specification = CommandSpecification(
    "inspect",
    summary: "Shows what the changesets topic stores for a feed, or which items show a content.",
    discussion: """
      Reads topics.changesets to its end, and prints the feed's epoch and revision, how far its input is \
      included, its sizes, and what was written since its last reload. If several partitions have the id, which is \
      a mistake of producers, it shows the feed of each. Exits with 1 if there is no such feed, or if nothing comes \
      from the brokers for 30 s.

      With --content instead of FEED, reads topics.contents, too, and prints the content, the number of items that refer to \
      it, and the first \(ContentInspection.mostItems) of them: feed, partition, item, and the names that it has for the content.
      """,
    arguments: ArgumentSpecification("FEED", minimum: 0, maximum: 1, help: "The feed's id."),
    options: [.value("content", "ID", help: "A content's id, instead of a feed's.")] + configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let log = CommandLog.make(configuration)
    let stop = orderlyStop()
    let content = invocation.value("content")
    guard (content == nil) != invocation.arguments.isEmpty else {
      throw UsageError("expected either FEED, or --content ID for a content")
    }
    if let content {
      guard let report = try await ContentInspection.run(configuration, id: content, stop: stop, log: log)
      else {
        DiagnosticOutput.standardError.write(
          line: "feedstore: no content has the id \(content.debugDescription), and no item refers to it"
        )
        return .failed
      }
      StandardOutput.write(report)
      return .done
    }
    let feed = invocation.arguments[0]
    guard let report = try await FeedInspection.run(configuration, feed: feed, stop: stop, log: log) else {
      DiagnosticOutput.standardError.write(line: "feedstore: there is no feed \"\(feed)\"")
      return .failed
    }
    StandardOutput.write(report)
    return .done
  }
}
