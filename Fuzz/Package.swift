// swift-tools-version: 6.2

import PackageDescription

/// The fuzz targets with libFuzzer, which is guided by coverage. Built by `make fuzz`, with everything it depends on
/// instrumented; the repository's own package builds without it.
let package = Package(
  name: "feedstore-fuzz",
  dependencies: [
    // Named, as the folder that the repository is checked out to may have any name.
    .package(name: "feedstore", path: "..")
  ],
  targets: [
    .executableTarget(
      name: "Fuzz",
      dependencies: [.product(name: "FuzzTargets", package: "feedstore")],
      swiftSettings: [
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        // libFuzzer brings the main function.
        .unsafeFlags(["-parse-as-library"]),
      ]
    )
  ]
)
