import Diagnostics
import FeedConfiguration
import FeedKafka
import FeedTools
import Settings

/// `feedstore topics`: checks the topics against FeedStore's requirements, and creates missing ones.
enum TopicsCommand: Subcommand {
  static let specification = CommandSpecification(
    "topics",
    summary: "Compares the topics with what FeedStore needs, and creates missing ones.",
    discussion: """
      Prints what FeedStore needs of its topics beside what the cluster has. "must" marks what \
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
    var setup = TopicSetup(configuration, log: CommandLog.make(configuration))
    setup.creates = invocation.flag("create")
    setup.partitions = try invocation.integer("partitions", in: 1...1_000_000)
    setup.replicationFactor = try invocation.integer("replication-factor", in: 1...32_767)
    setup.waits = invocation.flag("check") && !setup.creates
    let report = try await setup.run()
    StandardOutput.write(report.table)
    for note in report.notes { DiagnosticOutput.standardError.write(line: note) }
    let isFit = report.failures.isEmpty && (report.isFit || !invocation.flag("check"))
    return isFit ? .done : .failed
  }
}

/// `feedstore doctor`: checks that a daemon can start and stay up.
enum DoctorCommand: Subcommand {
  static let specification = CommandSpecification(
    "doctor",
    summary: "Checks machine, files, brokers, topics and rights before the first start.",
    discussion: """
      Prints a line for each check. "ok" is fine; "look" marks what works, but not well or not for long; "fails" marks what keeps \
      the daemon from starting or working; "?" what could not be checked. Each of these lines names the remedy. The exit code is 1 \
      if a check fails.

      It writes nothing and joins no group. It reads the changesets topic once, as a start does, to compare its feeds with the memory.
      """,
    options: configurationOptions
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    let configuration = try configuration(sources(invocation).load(checksKeyFiles: false))
    var doctor = Doctor(configuration, log: CommandLog.make(configuration))
    try await doctor.run()
    StandardOutput.write(doctor.table)
    return doctor.isFit ? .done : .failed
  }
}
