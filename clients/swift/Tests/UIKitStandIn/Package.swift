// swift-tools-version: 6.0
import PackageDescription

// FeedStoreUI on Linux, with modules that stand in for Apple's. In a package of its own, so that no other package gets them.
let package = Package(
  name: "UIKitStandIn",
  platforms: [.iOS(.v17), .macOS(.v14)],
  dependencies: [.package(name: "feedstore-client", path: "../..")],
  targets: [
    .target(name: "DiffableModel"),
    .target(name: "UIKit", dependencies: ["DiffableModel"]),
    .target(name: "SwiftUI"),
    .target(name: "Combine"),
    // A link to the sources; two targets of one name are not allowed.
    .target(
      name: "FeedStoreUIOnStandIns",
      dependencies: [
        .product(name: "FeedStoreClient", package: "feedstore-client"), "UIKit", "SwiftUI", "Combine",
      ],
      path: "Sources/FeedStoreUI"
    ),
    .testTarget(
      name: "ListTests",
      dependencies: ["FeedStoreUIOnStandIns"],
      // Otherwise it looks for what Testing has for the real UIKit.
      swiftSettings: [.unsafeFlags(["-Xfrontend", "-disable-cross-import-overlays"])]
    ),
  ],
  swiftLanguageModes: [.v6]
)
