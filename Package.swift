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

let package = Package(
  name: "feedstore",
  products: [
    .executable(name: "feedstore", targets: ["FeedStoreCommand"]),
    .library(name: "Feed", targets: ["Feed"]),
    .library(name: "FeedStore", targets: ["FeedStore"]),
  ],
  targets: [
    // C libraries of the system.
    .systemLibrary(name: "CRdkafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
    .systemLibrary(name: "CXxhash", providers: [.apt(["libxxhash-dev"])]),
    .target(name: "CSimdjson", linkerSettings: [.linkedLibrary("simdjson")]),

    // The walls: arrows point one way only, and the build checks them.
    .target(name: "Feed", dependencies: ["CSimdjson", "CXxhash"], swiftSettings: swiftSettings),
    .target(name: "FeedStore", dependencies: ["Feed"], swiftSettings: swiftSettings),
    .target(name: "Kafka", dependencies: ["CRdkafka"], swiftSettings: swiftSettings),
    .target(name: "Service", swiftSettings: swiftSettings),
    .target(
      name: "FeedPipeline",
      dependencies: ["Feed", "FeedStore", "Kafka", "Service"],
      swiftSettings: swiftSettings
    ),
    .executableTarget(
      name: "FeedStoreCommand",
      dependencies: ["FeedPipeline", "Service"],
      swiftSettings: swiftSettings
    ),

    // Tests: one folder per target, what they share in FeedTestSupport.
    .target(
      name: "FeedTestSupport",
      dependencies: ["Feed"],
      path: "Tests/FeedTestSupport",
      swiftSettings: swiftSettings
    ),
    .testTarget(
      name: "FeedTestSupportTests",
      dependencies: ["Feed", "FeedTestSupport"],
      swiftSettings: swiftSettings
    ),
    .testTarget(name: "FeedTests", dependencies: ["Feed", "FeedTestSupport"], swiftSettings: swiftSettings),
    .testTarget(
      name: "FeedStoreTests",
      dependencies: ["Feed", "FeedStore", "FeedTestSupport"],
      swiftSettings: swiftSettings
    ),
    .testTarget(name: "KafkaTests", dependencies: ["Kafka"], swiftSettings: swiftSettings),
    .testTarget(name: "ServiceTests", dependencies: ["Service"], swiftSettings: swiftSettings),
    .testTarget(
      name: "FeedPipelineTests",
      dependencies: ["Feed", "FeedStore", "FeedPipeline", "FeedTestSupport", "Service"],
      exclude: ["Golden"],
      swiftSettings: swiftSettings
    ),
  ],
  cxxLanguageStandard: .cxx17
)
