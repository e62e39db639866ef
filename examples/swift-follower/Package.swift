// swift-tools-version: 6.2

import PackageDescription

let package = Package(
  name: "swift-follower",
  dependencies: [
    // The checkout of FeedStore. It is named because its folder may have any name.
    .package(name: "feedstore", path: "../..")
  ],
  targets: [
    .executableTarget(
      name: "Follower",
      dependencies: [
        .product(name: "Feed", package: "feedstore"),
        .product(name: "FeedClient", package: "feedstore"),
      ],
      path: "Sources"
    )
  ]
)
