import Diagnostics
import FeedTools
import OperatingSystem
import Settings

/// `feedstore rejects list`: lists rejected records with the reasons.
enum RejectsListCommand: Subcommand {
  static let specification = CommandSpecification(
    "rejects list",
    summary: "Lists the records that were rejected, with the reasons.",
    discussion: """
      Reads topics.rejected partition by partition. A line has the record's position there (PARTITION/OFFSET), its time, the \
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
    let report = try await RejectedListing.run(
      configuration,
      code: invocation.value("code"),
      sinceMilliseconds: try since(invocation),
      isJSON: invocation.flag("json"),
      log: CommandLog.make(configuration),
      write: { StandardOutput.write($0) }
    )
    // The line count would be incomplete.
    if !StandardOutput.isClosed { DiagnosticOutput.standardError.write(line: report.text) }
    return .done
  }

  private static func since(_ invocation: CommandInvocation) throws(UsageError) -> Int64? {
    guard let text = invocation.value("since") else { return nil }
    guard let time = Timestamp.milliseconds(since: text, now: WallClock.milliseconds()) else {
      throw UsageError("--since is '\(text)'; allowed: \(Timestamp.allowedSince)")
    }
    return time
  }
}

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
    let position = try RejectedPosition.reading(invocation.arguments[0])
    let record = try await RejectedExcerpt.read(position, configuration, log: CommandLog.make(configuration))
    DiagnosticOutput.standardError.write(line: record.details)
    if StandardOutput.isTerminal {
      StandardOutput.write(record.printableValue)
    } else if let value = record.value {
      value.withUnsafeBytes { _ = StandardOutput.write(bytes: $0) }
    }
    return .done
  }
}

extension RejectedPosition {
  static func reading(_ text: String) throws(UsageError) -> RejectedPosition {
    guard let position = RejectedPosition(text) else {
      throw UsageError(
        "'\(text)' is not PARTITION/OFFSET, as in 3/1042; 'feedstore rejects list' lists the records"
      )
    }
    return position
  }
}

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
    var positions: [RejectedPosition] = []
    for text in invocation.arguments {
      let position = try RejectedPosition.reading(text)
      guard !positions.contains(position) else {
        throw UsageError("\(position) is named twice, and would be sent twice; name it once")
      }
      positions.append(position)
    }
    let publication = RejectedPublication(
      configuration,
      positions: positions,
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
        "--value is for one record, but \(invocation.arguments.count) are named; publish each by itself"
      )
    }
    guard let bytes = try WholeFile.bytes(path, atMost: most) else {
      throw UsageError("--value \(path) has more than limits.maxRecordBytes (\(most)) bytes")
    }
    return bytes
  }
}
