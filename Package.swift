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
    .systemLibrary(name: "CGnutls", pkgConfig: "gnutls", providers: [.apt(["libgnutls28-dev"])]),
    .systemLibrary(name: "CMicrohttpd", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // What Swift's module of glibc leaves out.
    .target(name: "CEpoll"),
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
    .target(
      name: "Service",
      dependencies: ["CEpoll", "CGnutls", "CMalloc", "CMicrohttpd", "CZlib", "Spelling"],
      swiftSettings: swiftSettings
    ),
    .target(name: "Changesets", dependencies: ["Feed", "Kafka", "Service"], swiftSettings: swiftSettings),
    .target(
      name: "FeedClient",
      dependencies: ["Changesets", "Feed", "Kafka", "Service"],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedConfiguration",
      dependencies: ["Feed", "FeedKafka", "FeedStore", "Kafka", "Service", "Spelling"],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedKafka",
      dependencies: ["Feed", "FeedStore", "Kafka", "Service"],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedStatus",
      dependencies: [
        "CBuild", "Changesets", "Feed", "FeedConfiguration", "FeedKafka", "FeedStore", "Kafka", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedTransactions",
      dependencies: [
        "Changesets", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore", "Kafka", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedWorker",
      dependencies: [
        "Changesets", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore", "FeedTransactions",
        "Kafka", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedIngest",
      dependencies: [
        "CTextMarks", "Changesets", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore",
        "FeedTransactions", "Kafka", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedHTTP",
      dependencies: [
        "CInspector", "Changesets", "Feed", "FeedClient", "FeedConfiguration", "FeedKafka", "FeedStatus",
        "FeedStore", "Kafka", "Service", "Spelling",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedTools",
      dependencies: [
        "CDemoHistory", "Changesets", "Feed", "FeedClient", "FeedConfiguration", "FeedIngest", "FeedKafka",
        "FeedStore",
        "FeedVerification", "Kafka", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .target(
      name: "FeedDaemon",
      dependencies: [
        "Feed", "FeedClient", "FeedConfiguration", "FeedHTTP", "FeedIngest", "FeedKafka", "FeedStatus",
        "FeedStore", "FeedTools", "FeedTransactions", "FeedWorker", "Kafka", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "FeedStoreCommand",
      dependencies: [
        "Feed", "FeedConfiguration", "FeedDaemon", "FeedIngest", "FeedKafka", "FeedStatus", "FeedTools",
        "FeedTransactions", "Service",
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
        "Feed", "FeedChecks", "FeedConfiguration", "FeedTestSupport", "Oracle", "FeedVerification",
        "Service",
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
        "Feed", "FeedConfiguration", "FeedIngest", "FeedKafka", "FeedStore", "ObservationSupport", "Oracle",
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
        "ConformanceSupport",
        "FeedTestSupport", "Oracle", "Kafka", "KafkaTestSupport",
        "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "ServiceTests",
      dependencies: ["CGnutls", "CZlib", "HTTPTestSupport", "ProcessSupport", "Service", "Spelling"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedConfigurationTests",
      dependencies: [
        "Feed", "FeedConfiguration", "FeedKafka", "FeedStore", "FeedTestSupport", "Oracle", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedIngestTests",
      dependencies: [
        "Feed", "FeedConfiguration", "FeedIngest", "FeedStatus", "FeedStore", "FeedTestSupport",
        "FeedTransactions", "Kafka", "Oracle", "Service",
      ],
      exclude: ["IngestMachineTransitions.txt"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedKafkaTests",
      dependencies: ["Feed", "FeedKafka", "FeedStore", "Kafka", "Service"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedWorkerTests",
      dependencies: [
        "Changesets", "Feed", "FeedConfiguration", "FeedKafka", "FeedStatus", "FeedStore",
        "FeedTestSupport", "FeedTransactions", "FeedWorker", "Kafka", "Oracle", "Service",
      ],
      exclude: ["Worker/Machine/WorkerMachineTransitions.txt"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedHTTPTests",
      dependencies: [
        "ChangesetTestSupport", "Changesets", "Feed", "FeedClient", "FeedConfiguration", "FeedHTTP",
        "FeedKafka", "FeedStatus", "FeedTransactions", "FeedWorker", "Kafka", "Oracle", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedToolsTests",
      dependencies: [
        "ChangesetTestSupport", "Feed", "FeedClient", "FeedConfiguration", "FeedKafka", "FeedStore",
        "ConformanceSupport", "FeedTestSupport", "IngestTestSupport", "Oracle", "FeedTools",
        "FeedVerification", "Kafka", "Service",
      ],
      exclude: ["Golden"],
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "ChangesetTestSupport", "Changesets", "Feed", "FeedChecks", "FeedClient", "FeedConfiguration",
        "FeedDaemon", "FeedHTTP", "FeedKafka", "FeedStatus", "FeedStore", "FeedTestSupport", "FeedTools",
        "FeedTransactions", "FeedVerification", "FeedWorker", "HTTPTestSupport", "Kafka",
        "KafkaTestSupport", "ObservationSupport", "Oracle", "ProcessSupport", "Service",
      ],
      swiftSettings: swiftSettings
    ),
    // The daemon's workers in virtual time, on simulated brokers.
    .testTarget(
      name: "SimulationTests",
      dependencies: [
        "CRdkafka", "Changesets", "Feed", "FeedClient", "FeedConfiguration", "FeedIngest", "FeedKafka",
        "FeedStatus", "FeedStore", "FeedTestSupport", "FeedTransactions", "FeedWorker", "IngestTestSupport",
        "Kafka",
        "ObservationSupport", "Oracle", "Service", "SimulationSupport",
      ],
      swiftSettings: swiftSettings
    ),
    // Runs the built command against a Kafka cluster, if FEEDSTORE_TEST_BOOTSTRAP names one.
    .testTarget(
      name: "BrokerTests",
      dependencies: [
        "CRdkafka", "Feed", "FeedClient", "FeedConfiguration", "FeedIngest", "FeedKafka", "FeedStatus",
        "FeedStore", "FeedTestSupport", "FeedTools", "FeedTransactions", "FeedWorker", "HTTPTestSupport",
        "IngestTestSupport", "Kafka", "KafkaTestSupport", "ObservationSupport", "Oracle", "ProcessSupport",
        "Service",
      ],
      swiftSettings: swiftSettings
    ),
  ]
)
