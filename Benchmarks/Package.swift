// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "feedstore-benchmarks",
  dependencies: [
    // Named, as the folder that the repository is checked out to may have any name.
    .package(name: "feedstore", path: "..")
  ],
  targets: [
    .target(name: "CBareLoop", linkerSettings: [.linkedLibrary("rdkafka")]),
    .executableTarget(
      name: "Benchmarks",
      dependencies: [
        "CBareLoop",
        .product(name: "Feed", package: "feedstore"),
        .product(name: "FeedStore", package: "feedstore"),
      ],
      swiftSettings: [
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]
    ),
  ]
)
