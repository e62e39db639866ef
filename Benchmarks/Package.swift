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
    // Named, as the folder that the repository is checked out to may have any name.
    .package(name: "feedstore", path: "..")
  ],
  targets: [
    .target(name: "CBareLoop", linkerSettings: [.linkedLibrary("rdkafka")]),
    // What `Benchmarks` measures and `Costs` counts.
    .target(name: "Workloads", dependencies: feedStore, swiftSettings: swiftSettings),
    // Measures time and memory.
    .executableTarget(
      name: "Benchmarks",
      dependencies: ["CBareLoop", "Workloads"] + feedStore,
      swiftSettings: swiftSettings
    ),
    // Counts instructions and allocations, with an allocator of its own that does the counting.
    .target(name: "CCounting"),
    .executableTarget(
      name: "Costs",
      dependencies: ["CCounting", "Workloads"] + feedStore,
      swiftSettings: swiftSettings,
      // Valgrind of Debian 12 cannot read what Swift writes for debuggers, and refuses to run it.
      linkerSettings: [.unsafeFlags(["-Xlinker", "--strip-debug"])]
    ),
  ]
)
