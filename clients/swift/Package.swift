// swift-tools-version: 6.0
import PackageDescription

let package = Package(
  name: "feedstore-client",
  // watchOS and tvOS of the same year.
  platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
  products: [
    .library(name: "FeedStoreClient", targets: ["FeedStoreClient"]),
    .library(name: "FeedStoreUI", targets: ["FeedStoreUI"]),
  ],
  targets: [
    .target(name: "FeedStoreClient"),
    .target(name: "FeedStoreUI", dependencies: ["FeedStoreClient"]),
    .executableTarget(name: "TapToShowAll", dependencies: ["FeedStoreClient"], path: "Examples/TapToShowAll"),
    .executableTarget(name: "TapAStar", dependencies: ["FeedStoreClient"], path: "Examples/TapAStar"),
    .testTarget(
      name: "FeedStoreClientTests",
      dependencies: ["FeedStoreClient", "TapToShowAll", "TapAStar"]
    ),
  ],
  swiftLanguageModes: [.v6]
)
