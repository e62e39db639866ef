import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

/// `feedstore rejects show`: prints one rejected record in full.
enum RejectsShowCommand: Subcommand {
  static let specification = CommandSpecification(
    "rejects show",
    summary: "Shows one rejected record: its headers, and the bytes of its value.",
    discussion: """
      The value is on standard output, byte for byte, so that it can be sent to a file, repaired there and published; \
      on a terminal it is without characters that the terminal would act upon. Everything else is on standard error.
      """,
    arguments: ArgumentSpecification(
      "PARTITION/OFFSET",
      maximum: 1,
      help: "Its partition and offset in topics.rejected, as in the list."
    ),
    options: configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    let place = try RejectedPlace.reading(invocation.arguments[0])
    let record = try await RejectedExcerpt.read(place, configuration, log: CommandLog.make(configuration))
    DiagnosticOutput.standardError.write(line: record.details)
    if StandardOutput.isTerminal {
      StandardOutput.write(record.printableValue)
    } else if let value = record.value {
      value.withUnsafeBytes { _ = StandardOutput.write(bytes: $0) }
    }
    return .done
  }
}

extension RejectedPlace {
  /// - Throws: ``UsageError`` that names the argument.
  static func reading(_ text: String) throws(UsageError) -> RejectedPlace {
    guard let place = RejectedPlace(text) else {
      throw UsageError(
        .invalidValue,
        "'\(text)' is not PARTITION/OFFSET, as in 3/1042; 'feedstore rejects list' lists the records"
      )
    }
    return place
  }
}
