// swift-tools-version: 6.0
import PackageDescription

// FeedStoreUI on Linux as on macOS, where there is no UIKit. Modules of one package see each other, so this is another one.
let package = Package(
  name: "AppKitStandIn",
  platforms: [.macOS(.v12)],
  dependencies: [.package(name: "feedstore-client", path: "../..")],
  targets: [
    // A link to the other package's.
    .target(name: "DiffableModel", swiftSettings: [.define("APPKIT")]),
    .target(name: "AppKit", dependencies: ["DiffableModel"]),
    .target(
      name: "FeedStoreUIOnStandIns",
      dependencies: [.product(name: "FeedStoreClient", package: "feedstore-client"), "AppKit"],
      path: "Sources/FeedStoreUI"
    ),
    .testTarget(
      name: "ListTests",
      dependencies: ["FeedStoreUIOnStandIns"],
      // Otherwise it looks for what Testing has for the real AppKit.
      swiftSettings: [.unsafeFlags(["-Xfrontend", "-disable-cross-import-overlays"])]
    ),
  ],
  swiftLanguageModes: [.v6]
)
