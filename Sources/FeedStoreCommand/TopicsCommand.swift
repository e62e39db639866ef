import FeedConfiguration
import FeedDaemon
import FeedKafka
import FeedTools
import Service

/// `feedstore topics`: checks the topics against FeedStore's requirements, and creates missing ones.
enum TopicsCommand: Subcommand {
  static let specification = CommandSpecification(
    "topics",
    summary: "Compares the topics with what FeedStore needs, and creates missing ones.",
    discussion: """
      Prints what FeedStore needs of its four topics beside what the cluster has. "must" marks what \
      FeedStore cannot work with, "should" what works but costs more or bears less, "?" what the cluster \
      does not tell; the reasons and the remedies are on standard error.

      With --create, creates the topics that are missing; what exists is never changed. With --check, exits \
      with 1 if anything is marked "must"; without --create it waits for topics that the brokers do not tell of yet, up to \
      startup.timeout.
      """,
    options: [
      .flag("create", help: "Creates the topics that are missing, with the settings they need."),
      .flag("check", help: "Exits with 1 on a mismatch that FeedStore cannot work with."),
      .value(
        "partitions",
        "N",
        help: "Partitions of new topics; by default as many as the other input has, or \(defaultPartitions)."
      ),
      .value(
        "replication-factor",
        "N",
        help: "Replicas of each partition of new topics; the brokers' default if left out."
      ),
    ] + configurationOptions
  )

  private static var defaultPartitions: Int32 { TopicRequirements.defaultPartitions }

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(invocation)
    var setup = TopicSetup(
      configuration,
      creates: invocation.flag("create"),
      partitions: try number("partitions", 1...1_000_000, invocation),
      replicationFactor: try number("replication-factor", 1...32_767, invocation),
      log: CommandLog.make(configuration)
    )
    setup.waits = invocation.flag("check") && !invocation.flag("create")
    let report = try await setup.run()
    StandardOutput.write(report.table)
    for note in report.notes { DiagnosticOutput.standardError.write(line: note) }
    let isFit = report.failures.isEmpty && (report.isFit || !invocation.flag("check"))
    return isFit ? .done : .failed
  }

  /// An option's value as a number; nil if it is not given.
  private static func number(
    _ name: String,
    _ range: ClosedRange<Int>,
    _ invocation: CommandInvocation
  ) throws -> Int32? {
    let number = try invocation.integer(name, default: 0, in: range)
    return number == 0 ? nil : Int32(number)
  }
}
