import FeedConfiguration
import FeedDaemon
import FeedTools
import Service

/// `feedstore rejects publish`: sends rejected records again.
enum RejectsPublishCommand: Subcommand {
  static let specification = CommandSpecification(
    "rejects publish",
    summary: "Sends rejected records again, to the partitions they came from.",
    discussion: """
      With --value, the file takes the place of the value, and the record has the key that it had. A record is \
      refused, with the reason, if it was cut or would be rejected again; then nothing is sent. The time of a record that \
      is sent is that of sending. Records stay in topics.rejected, and who publishes one twice sends it twice.
      """,
    arguments: ArgumentSpecification(
      "PARTITION/OFFSET",
      help: "Their partitions and offsets in topics.rejected, as in the list."
    ),
    options: [
      .value(
        "value",
        "FILE",
        help: "The repaired value of the one record that is named; - is standard input."
      )
    ] + configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    var places: [RejectedPlace] = []
    for text in invocation.arguments {
      let place = try RejectedPlace.reading(text)
      guard !places.contains(place) else {
        throw UsageError(
          .unexpectedArgument,
          "\(place) is named twice, and would be sent twice; name it once"
        )
      }
      places.append(place)
    }
    let publication = RejectedPublication(
      configuration,
      places: places,
      value: try value(invocation, RejectedPublication.mostValueBytes(configuration)),
      log: CommandLog.make(configuration)
    )
    let report = try await publication.run()
    for line in report.lines { DiagnosticOutput.standardError.write(line: line) }
    return report.isComplete ? .done : .failed
  }

  private static func value(_ invocation: CommandInvocation, _ most: Int) throws -> [UInt8]? {
    guard let path = invocation.value("value") else { return nil }
    guard invocation.arguments.count == 1 else {
      throw UsageError(
        .unexpectedArgument,
        "--value is for one record, but \(invocation.arguments.count) are named; publish each by itself"
      )
    }
    guard let bytes = try WholeFile.bytes(path, atMost: most) else {
      throw UsageError(.invalidValue, "--value \(path) has more than limits.maxRecordBytes (\(most)) bytes")
    }
    return bytes
  }
}
