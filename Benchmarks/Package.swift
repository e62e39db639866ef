// swift-tools-version: 6.2

import PackageDescription

let swiftSettings: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let feedStore: [Target.Dependency] = [
  .product(name: "Feed", package: "feedstore"),
  .product(name: "FeedStore", package: "feedstore"),
]

let package = Package(
  name: "feedstore-benchmarks",
  dependencies: [
    // Named, because the repository may be checked out to a folder with any name.
    .package(name: "feedstore", path: "..")
  ],
  targets: [
    .target(name: "CBareLoop", linkerSettings: [.linkedLibrary("rdkafka")]),
    // The work that `Benchmarks` measures and `Costs` counts.
    .target(name: "Workloads", dependencies: feedStore, swiftSettings: swiftSettings),
    // Measures time and memory.
    .executableTarget(
      name: "Benchmarks",
      dependencies: ["CBareLoop", "Workloads"] + feedStore,
      swiftSettings: swiftSettings
    ),
    // Counts instructions and allocations, with its own counting allocator.
    .target(name: "CCounting"),
    .executableTarget(
      name: "Costs",
      dependencies: ["CCounting", "Workloads"] + feedStore,
      swiftSettings: swiftSettings,
      // Debian 12's Valgrind cannot parse Swift's debug information, and refuses to run the program.
      linkerSettings: [.unsafeFlags(["-Xlinker", "--strip-debug"])]
    ),
  ]
)
