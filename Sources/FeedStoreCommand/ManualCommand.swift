import FeedConfiguration
import FeedDaemon
import FeedWorker
import Service

/// `feedstore manual`: prints the manual pages.
enum ManualCommand: Subcommand {
  static let specification = CommandSpecification(
    "manual",
    summary: "Prints the manual page, in the language of man: 'feedstore manual | man -l -'.",
    discussion: """
      With --configuration, prints the page about the configuration instead, made of the keys and comments of a file such as \
      config/feedstore.json5.
      """,
    options: [.value("configuration", "FILE", help: "The file whose keys are described.")]
  )

  static func run(_ invocation: CommandInvocation) async throws -> ExitCode {
    guard let path = invocation.value("configuration") else {
      StandardOutput.write(FeedStoreCommand.specification.manual(with: sections))
      return .done
    }
    guard let bytes = try WholeFile.bytes(path, atMost: mostBytes),
      let text = String(validating: bytes, as: UTF8.self)
    else {
      throw UsageError(
        .invalidValue,
        "--configuration \(path) is not a configuration: it is not text, or too long"
      )
    }
    let page = try ConfigurationManual(text: text, name: path).page(
      title: "feedstore.json5",
      source: "feedstore \(Release.version)",
      summary: "configuration of feedstore",
      with: [ManualSection("Files", files), ManualSection("See also", [.paragraph("feedstore(1)")])]
    )
    StandardOutput.write(page)
    return .done
  }

  private static let mostBytes = 16_777_216

  private static let files: [ManualSection.Part] = [
    .item(
      "/etc/feedstore/feedstore.json5",
      "The configuration of the service, where a package has installed it."
    )
  ]

  private static let sections = [
    ManualSection(
      "Exit status",
      [
        .item("0", "Done; of a daemon, it was asked to stop."),
        .item("1", "It failed, and the last line says why and what to do."),
        .item("2", "The command line or the configuration is wrong."),
        .item("129, 130, 143", "A second SIGHUP, SIGINT or SIGTERM ended it at once. Nothing is lost."),
      ]
    ),
    ManualSection(
      "Environment",
      [
        .item(
          "FEEDSTORE_KEY",
          """
          Sets a key of the configuration, over the file's: FEEDSTORE_COALESCE_IDLE_WINDOW is coalesce.idleWindow, and \
          FEEDSTORE_KAFKA_BOOTSTRAP_SERVERS is kafka.bootstrap.servers. One that is empty sets nothing.
          """
        ),
        .item("NO_COLOR", "If it is set to any text, nothing is coloured (https://no-color.org)."),
        .item(
          "TERM",
          "If it is dumb or not set, a terminal gets no escape sequences: no colours, no progress, no --screen."
        ),
        .item(
          "FEEDSTORE_TEST_*, FEEDSTORE_COMMIT",
          "Belong to tests and builds, and set nothing; so do the names that docs/operating.md lists."
        ),
      ]
    ),
    ManualSection("Files", files),
    ManualSection(
      "Examples",
      [
        .paragraph("Create the topics, and start the daemon:"),
        .code(
          """
          feedstore topics --create --set kafka.bootstrap.servers=broker:9092
          feedstore run --set kafka.bootstrap.servers=broker:9092
          """
        ),
        .paragraph("Look at what was rejected, repair a record, and send it again:"),
        .code(
          """
          feedstore rejects list --since 6h --config /etc/feedstore/feedstore.json5
          feedstore rejects show 3/1042 --config /etc/feedstore/feedstore.json5 >record.json
          feedstore rejects publish 3/1042 --value record.json --config /etc/feedstore/feedstore.json5
          """
        ),
      ]
    ),
    ManualSection("See also", [.paragraph("feedstore.json5(5)")]),
  ]
}
