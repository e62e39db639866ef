import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

/// `feedstore rejects list`: lists rejected records with the reasons.
enum RejectsListCommand: Subcommand {
  static let specification = CommandSpecification(
    "rejects list",
    summary: "Lists the records that were rejected, with the reasons.",
    discussion: """
      Reads topics.rejected partition by partition. A line has the record's place there (PARTITION/OFFSET), its time, the \
      code, the key, where it came from, and the message. A count by code is on standard error at the end.
      """,
    options: [
      .value(
        "code",
        "CODE",
        choices: RejectedListing.knownCodes,
        help: "Only records with this code, such as unknown-section."
      ),
      .value(
        "since",
        "WHEN",
        help: "Only records since a time: 2026-11-20T10:00:00Z, a day, or an age such as 6h."
      ),
      .flag("json", help: "Prints one JSON object per line."),
    ] + configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    var listing = RejectedListing(
      configuration,
      isJSON: invocation.flag("json"),
      log: CommandLog.make(configuration),
      write: { StandardOutput.write($0) }
    )
    listing.code = try code(invocation)
    listing.sinceMilliseconds = try since(invocation)
    let report = try await listing.run()
    // It would count the lines up to there.
    if !StandardOutput.isClosed { DiagnosticOutput.standardError.write(line: report.text) }
    return .done
  }

  private static func code(_ invocation: CommandInvocation) throws(UsageError) -> String? {
    guard let code = invocation.value("code") else { return nil }
    guard RejectedListing.knownCodes.contains(code) else {
      let allowed = RejectedListing.knownCodes.joined(separator: ", ")
      throw UsageError(.invalidValue, "--code is '\(code)'; allowed: \(allowed)")
    }
    return code
  }

  private static func since(_ invocation: CommandInvocation) throws(UsageError) -> Int64? {
    guard let text = invocation.value("since") else { return nil }
    guard let time = Timestamp.milliseconds(since: text, now: WallClock.milliseconds()) else {
      throw UsageError(.invalidValue, "--since is '\(text)'; allowed: \(Timestamp.allowedSince)")
    }
    return time
  }
}
