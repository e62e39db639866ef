import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

/// `feedstore verify`: checks changesets against the protocol.
enum VerifyCommand: Subcommand {
  static let specification = CommandSpecification(
    "verify",
    summary: "Checks changesets against the protocol, in files or on a cluster.",
    discussion: """
      Reads files as replay writes them, or with --topic the changesets topic from its beginning to its end. \
      Prints the first fault of each feed with its place, what was found and what was expected; exits with 1 \
      if there are any.

      keyframe.maxDeltas, keyframe.maxBytesRatio, output.maxMessageBytes and output.source must be what the \
      changesets were written with. Of a topic that was compacted, gaps that a later reload closes are no \
      faults.
      """,
    arguments: ArgumentSpecification(
      "FILE",
      minimum: 0,
      help: "Files with changesets, read as one input; - is standard input."
    ),
    options: [.flag("topic", help: "Reads the topic topics.changesets instead of files.")]
      + configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let verification = Verification(
      configuration,
      input: try input(invocation),
      log: CommandLog.make(configuration),
      tell: { _ = StandardOutput.write(line: $0) }
    )
    let report = try await verification.run()
    DiagnosticOutput.standardError.write(line: report.text)
    return report.isRight ? .done : .failed
  }

  private static func input(_ invocation: CommandInvocation) throws(UsageError) -> Verification.Input {
    let files = invocation.arguments
    switch (invocation.flag("topic"), files.isEmpty) {
    case (true, true): return .topic
    case (false, false): return .files(files)
    case (true, false):
      throw UsageError(
        .unexpectedArgument,
        "unexpected argument '\(files[0])' with --topic; name files, or give --topic"
      )
    case (false, true):
      throw UsageError(
        .missingArgument,
        "'feedstore verify' needs FILE... or --topic; see 'feedstore verify --help'"
      )
    }
  }
}
