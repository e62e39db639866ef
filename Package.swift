// swift-tools-version: 6.2

import PackageDescription

/// Every Swift target is built with the same settings: warnings are errors, and the upcoming
/// features that work today are on, so that the code needs no migration later.
let swiftSettings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InferIsolatedConformances"),
]

/// The commit for `feedstore --version`. The Makefile sets it; a build that does not has none.
let commitSettings: [CSetting] =
  (Context.environment["FEEDSTORE_COMMIT"] ?? "").wholeMatch(of: /[0-9a-z-]+/)
  .map { [.define("FEEDSTORE_COMMIT", to: String($0.output))] } ?? []

let package = Package(
  name: "feedstore",
  products: [
    .executable(name: "feedstore", targets: ["FeedStoreCommand"]),
    .library(name: "Feed", targets: ["Feed"]),
    .library(name: "FeedStore", targets: ["FeedStore"]),
    .library(name: "FeedVerification", targets: ["FeedVerification"]),
    .library(name: "FeedClient", targets: ["FeedClient", "Kafka"]),
    // For the package in Fuzz, which is built in another way.
    .library(name: "FuzzTargets", targets: ["FuzzTargets"]),
  ],
  targets: [
    // C libraries of the system.
    .systemLibrary(name: "CRdkafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
    .systemLibrary(name: "CXxhash", providers: [.apt(["libxxhash-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-gnutls-dev"])]),
    .systemLibrary(name: "CGnutls", pkgConfig: "gnutls", providers: [.apt(["libgnutls28-dev"])]),
    .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // What Swift's module of glibc leaves out.
    .target(name: "CEpoll"),
    .target(name: "CProgram"),
    .systemLibrary(name: "CMalloc"),
    // A header about bytes of JSON, inlined.
    .systemLibrary(name: "CTextMarks"),
    // The inspector's files, and the records of the demo.
    .target(name: "CInspector"),
    .target(name: "CDemoHistory"),
    // What the build says of itself.
    .target(name: "CBuild", cSettings: commitSettings),

    // The walls: arrows point one way only, and the build checks them.
    .target(name: "Spelling", swiftSettings: swiftSettings),
    .target(name: "Feed", dependencies: ["CTextMarks", "CXxhash", "Spelling"], swiftSettings: swiftSettings),
    .target(name: "FeedVerification", dependencies: ["Feed"], swiftSettings: swiftSettings),
    .target(name: "FeedStore", dependencies: ["Feed"], swiftSettings: swiftSettings),
    .target(name: "Kafka", dependencies: ["CRdkafka"], swiftSettings: swiftSettings),
    .target(name: "Queues", swiftSettings: swiftSettings),
    .target(name: "OperatingSystem", dependencies: ["CProgram", "CZlib"], swiftSettings: swiftSettings),
    .target(name: "Diagnostics", dependencies: ["CMalloc", "OperatingSystem"], swiftSettings: swiftSettings),
    .target(name: "Settings", dependencies: ["OperatingSystem", "Spelling"], swiftSettings: swiftSettings),
    .target(
      name: "HTTP",
      dependencies: ["CCurl", "CEpoll", "CGnutls", "CMicrohttpd", "CZlib", "OperatingSystem", "Queues"],
      swiftSettings: swiftSettings
    ),
    .target(name: "Changesets", dependencies: ["Feed", "Kafka"], swiftSettings: swiftSettings),
    .target(
      name: "FeedClient",
      dependencies: ["Changesets", "Feed", "Kafka", "OperatingSystem", "Queues"],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "Standby",
      dependencies: ["Changesets", "Diagnostics", "Feed", "FeedClient", "Kafka", "OperatingSystem"],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedConfiguration",
      dependencies: [
        "Diagnostics", "Feed", "FeedKafka", "FeedStore", "HTTP", "Kafka", "OperatingSystem", "Settings",
        "Spelling",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedKafka",
      dependencies: ["Diagnostics", "Feed", "FeedStore", "Kafka", "OperatingSystem", "Settings"],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedStatus",
      dependencies: [
        "CBuild", "Changesets", "Diagnostics", "Feed", "FeedConfiguration", "FeedKafka", "FeedStore", "HTTP",
        "Kafka", "OperatingSystem", "Queues", "Settings",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedTransactions",
      dependencies: [
        "Changesets", "Diagnostics", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore",
        "Kafka", "OperatingSystem",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedWorker",
      dependencies: [
        "Changesets", "Diagnostics", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore",
        "FeedTransactions", "Kafka", "OperatingSystem",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedIngest",
      dependencies: [
        "Changesets", "Diagnostics", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore",
        "FeedTransactions", "HTTP", "Kafka", "OperatingSystem", "Settings",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedHTTP",
      dependencies: [
        "CInspector", "Changesets", "Diagnostics", "Feed", "FeedClient", "FeedConfiguration", "FeedKafka",
        "FeedStatus", "FeedStore", "HTTP", "Kafka", "OperatingSystem", "Queues", "Settings", "Spelling",
        "Standby",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedTools",
      dependencies: [
        "CDemoHistory", "Changesets", "Diagnostics", "Feed", "FeedClient", "FeedConfiguration", "FeedIngest",
        "FeedKafka", "FeedStatus", "FeedStore", "FeedVerification", "HTTP", "Kafka", "OperatingSystem",
        "Settings",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedDaemon",
      dependencies: [
        "Diagnostics", "Feed", "FeedClient", "FeedConfiguration", "FeedHTTP", "FeedIngest", "FeedKafka",
        "FeedStatus", "FeedStore", "FeedTransactions", "FeedWorker", "HTTP", "Kafka", "OperatingSystem",
        "Settings", "Standby",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedDemo",
      dependencies: [
        "Diagnostics", "Feed", "FeedClient", "FeedConfiguration", "FeedDaemon", "FeedKafka", "FeedStatus",
        "FeedStore", "FeedTools", "HTTP", "OperatingSystem", "Settings",
      ],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "FeedStoreCommand",
      dependencies: [
        "Diagnostics", "Feed", "FeedConfiguration", "FeedDaemon", "FeedDemo", "FeedIngest", "FeedKafka",
        "FeedStatus", "FeedTools", "FeedTransactions", "HTTP", "OperatingSystem", "Settings",
      ],
      swiftSettings: swiftSettings
    ),

    // Tests: one folder per target; the oracle, and what they share in FeedTestSupport.
    .target(name: "CSpawn", path: "Tests/CSpawn"),
    .target(
      name: "ProcessSupport",
      dependencies: ["CSpawn"],
      path: "Tests/ProcessSupport",
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedTestSupport",
      dependencies: ["ProcessSupport"],
      path: "Tests/FeedTestSupport",
      swiftSettings: swiftSettings
    ),
    // A plain implementation of the protocol.
    .target(
      name: "Oracle",
      dependencies: ["Feed", "FeedStore"],
      path: "Tests/Oracle",
      // It takes most of the tests' time without optimization.
      swiftSettings: swiftSettings + [.unsafeFlags(["-O"], .when(configuration: .debug))]
    ),
    // Makes the conformance vectors.
    .target(
      name: "ConformanceSupport",
      dependencies: ["Feed", "FeedConfiguration", "FeedStore", "Oracle"],
      path: "Tests/ConformanceSupport",
      swiftSettings: swiftSettings + [.unsafeFlags(["-O"], .when(configuration: .debug))]
    ),
    .target(
      name: "ChangesetTestSupport",
      dependencies: ["Feed", "FeedStore", "FeedTestSupport", "Oracle"],
      path: "Tests/ChangesetTestSupport",
      swiftSettings: swiftSettings
    ),
    // Whether what feeds keep incrementally is right.
    .target(
      name: "FeedChecks",
      dependencies: ["Feed", "FeedStore"],
      path: "Tests/FeedChecks",
      swiftSettings: swiftSettings
    ),
    // What is fuzzed, with the seeds: by FuzzTests, and with coverage by the package in Fuzz.
    .target(
      name: "FuzzTargets",
      dependencies: [
        "Feed", "FeedChecks", "FeedConfiguration", "FeedTestSupport", "HTTP", "Oracle", "FeedVerification",
        "Settings",
      ],
      path: "Tests/FuzzTargets",
      exclude: ["Corpus"],
      swiftSettings: swiftSettings
    ),
    // What is expected of published changesets, for tests on brokers, real or simulated.
    .target(
      name: "ObservationSupport",
      dependencies: ["FeedTestSupport", "Oracle", "Kafka"],
      path: "Tests/ObservationSupport",
      swiftSettings: swiftSettings
    ),
    // Brokers and clients in virtual time, and what runs in it.
    .target(name: "CCoroutine", path: "Tests/CCoroutine"),
    .target(
      name: "SimulationSupport",
      dependencies: ["CCoroutine", "FeedTestSupport", "Oracle", "Kafka"],
      path: "Tests/SimulationSupport",
      swiftSettings: swiftSettings
    ),
    // Faults of the embedded cluster.
    .target(
      name: "KafkaTestSupport",
      dependencies: ["CRdkafka", "Kafka"],
      path: "Tests/KafkaTestSupport",
      swiftSettings: swiftSettings
    ),
    // A table that changes at random, and what a topic has of it.
    .target(
      name: "IngestTestSupport",
      dependencies: [
        "Feed", "FeedConfiguration", "FeedIngest", "FeedKafka", "FeedStore", "HTTP", "ObservationSupport",
        "Oracle",
      ],
      path: "Tests/IngestTestSupport",
      swiftSettings: swiftSettings
    ),
    .target(name: "HTTPTestSupport", path: "Tests/HTTPTestSupport", swiftSettings: swiftSettings),
    .testTarget(
      name: "OracleTests",
      dependencies: [
        "Feed", "FeedStore", "ConformanceSupport", "FeedTestSupport", "Oracle", "ProcessSupport",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedTests",
      dependencies: ["Feed", "FeedChecks", "FeedTestSupport", "Oracle"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedVerificationTests",
      dependencies: ["Feed", "FeedTestSupport", "Oracle", "FeedVerification"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedStoreTests",
      dependencies: [
        "ChangesetTestSupport", "Feed", "FeedChecks", "FeedStore", "ConformanceSupport", "FeedTestSupport",
        "Oracle",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(name: "FuzzTests", dependencies: ["FuzzTargets"], swiftSettings: swiftSettings),
    .testTarget(
      name: "KafkaTests",
      dependencies: ["Kafka", "KafkaTestSupport"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedClientTests",
      dependencies: [
        "ChangesetTestSupport", "Changesets", "Feed", "FeedChecks", "FeedClient", "FeedStore",
        "ConformanceSupport", "FeedTestSupport", "Oracle", "Kafka", "KafkaTestSupport", "Queues",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "StandbyTests",
      dependencies: ["Changesets", "FeedClient", "Kafka", "Oracle", "Standby"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "OperatingSystemTests",
      dependencies: ["FeedTestSupport", "HTTPTestSupport", "OperatingSystem"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "DiagnosticsTests",
      dependencies: ["Diagnostics", "FeedTestSupport"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "SettingsTests",
      dependencies: ["FeedTestSupport", "OperatingSystem", "ProcessSupport", "Settings", "Spelling"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "HTTPTests",
      dependencies: [
        "CGnutls", "CZlib", "FeedTestSupport", "HTTP", "HTTPTestSupport", "OperatingSystem", "ProcessSupport",
        "Settings",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedConfigurationTests",
      dependencies: [
        "Diagnostics", "Feed", "FeedConfiguration", "FeedKafka", "FeedStore", "FeedTestSupport", "HTTP",
        "Kafka", "Oracle", "Settings",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedIngestTests",
      dependencies: [
        "Diagnostics", "Feed", "FeedConfiguration", "FeedIngest", "FeedStatus", "FeedStore",
        "FeedTestSupport", "FeedTransactions", "IngestTestSupport", "Kafka", "Oracle", "Settings",
      ],
      exclude: ["IngestMachineTransitions.txt"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedKafkaTests",
      dependencies: ["Diagnostics", "Feed", "FeedKafka", "FeedStore", "Kafka", "Settings"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedWorkerTests",
      dependencies: [
        "Changesets", "Diagnostics", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore",
        "FeedTestSupport", "FeedTransactions", "FeedWorker", "HTTP", "Kafka", "Oracle", "Settings",
      ],
      exclude: ["Worker/Machine/WorkerMachineTransitions.txt"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedHTTPTests",
      dependencies: [
        "ChangesetTestSupport", "Changesets", "Diagnostics", "Feed", "FeedClient", "FeedConfiguration",
        "FeedHTTP", "FeedKafka", "FeedStatus", "FeedTransactions", "FeedWorker", "HTTP", "Kafka", "Oracle",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedToolsTests",
      dependencies: [
        "ChangesetTestSupport", "Diagnostics", "Feed", "FeedClient", "FeedConfiguration", "FeedKafka",
        "FeedStore", "ConformanceSupport", "FeedTestSupport", "HTTP", "IngestTestSupport", "Oracle",
        "FeedTools", "FeedVerification", "Kafka", "Settings",
      ],
      exclude: ["Golden"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "ChangesetTestSupport", "Changesets", "Diagnostics", "Feed", "FeedChecks", "FeedClient",
        "FeedConfiguration", "FeedDaemon", "FeedDemo", "FeedHTTP", "FeedKafka", "FeedStatus", "FeedStore",
        "FeedTestSupport", "FeedTools", "FeedTransactions", "FeedVerification", "FeedWorker", "HTTP",
        "HTTPTestSupport", "Kafka", "KafkaTestSupport", "ObservationSupport", "OperatingSystem", "Oracle",
        "ProcessSupport", "Settings", "Standby",
      ],
      swiftSettings: swiftSettings
    ),
    // The daemon's workers in virtual time, on simulated brokers.
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "CRdkafka", "Changesets", "Diagnostics", "Feed", "FeedClient", "FeedConfiguration", "FeedIngest",
        "FeedKafka", "FeedStatus", "FeedStore", "FeedTestSupport", "FeedTransactions", "FeedWorker",
        "IngestTestSupport", "Kafka", "ObservationSupport", "OperatingSystem", "Oracle", "Settings",
        "SimulationSupport", "Standby",
      ],
      swiftSettings: swiftSettings
    ),
    // Runs the built command against a Kafka cluster, if FEEDSTORE_TEST_BOOTSTRAP names one.
    .testTarget(
      name: "BrokerTests",
      dependencies: [
        "CRdkafka", "Diagnostics", "Feed", "FeedClient", "FeedConfiguration", "FeedIngest", "FeedKafka",
        "FeedStatus", "FeedStore", "FeedTestSupport", "FeedTools", "FeedTransactions", "FeedWorker", "HTTP",
        "HTTPTestSupport", "IngestTestSupport", "Kafka", "KafkaTestSupport", "ObservationSupport",
        "OperatingSystem", "Oracle", "ProcessSupport", "Settings",
      ],
      swiftSettings: swiftSettings
    ),
  ]
)
