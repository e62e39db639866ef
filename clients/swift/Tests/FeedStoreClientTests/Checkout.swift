import Foundation
import Testing

@testable import FeedStoreClient

/// The checkout that this package is in. Tests that need what a copy of the package alone does not have are skipped, with a message.
enum Checkout {
  static let root: URL = {
    var folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    while folder.path != "/",
      !FileManager.default.fileExists(atPath: folder.appendingPathComponent("conformance").path)
    {
      folder.deleteLastPathComponent()
    }
    return folder
  }()
  static let conformance = root.appendingPathComponent("conformance")
  static let feedstore = root.appendingPathComponent(".build/debug/feedstore")

  static var hasVectors: Bool { isThere(conformance, "the conformance vectors") }
  static var hasCommand: Bool {
    isThere(feedstore, "the command; build it with: swift build --product feedstore")
  }
  static var hasStandIn: Bool {
    hasCommand && isThere(root.appendingPathComponent("Tests/StandInCluster"), "the cluster that stands in")
  }

  private static func isThere(_ url: URL, _ what: String) -> Bool {
    let isThere = FileManager.default.fileExists(atPath: url.path)
    if !isThere { print("there is no \(url.path): tests that need \(what) are skipped") }
    return isThere
  }

  /// The vectors of a folder, or the one of a file; none if there is no such folder.
  static func vectors(_ name: String) -> [String] {
    let url = conformance.appendingPathComponent(name)
    let names = (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []
    return names.filter { $0.hasSuffix(".ndjson") }.sorted().map { "\(name)/\($0)" }
  }

  /// The lines of a vector, which is JSON with names of which each occurs once.
  static func lines(_ name: String) throws -> [JSONObject] {
    try String(contentsOf: conformance.appendingPathComponent(name), encoding: .utf8).split(separator: "\n")
      .map {
        try #require(JSONObject(try JSONText(checking: String($0))))
      }
  }
}

extension FeedWindow {
  /// The window of a vector.
  init(_ members: JSONObject?) {
    self.init(
      sections: members?["sections"]?.elements?.map { SectionID($0.string ?? "") },
      first: members?["first"]?.count,
      from: members?["from"]?.count,
      count: members?["count"]?.count
    )
  }
}

extension FeedState {
  /// The sections as in a reload, with all lists, and data as it is spelled.
  var document: String {
    let sections = sections.map { section in
      let items = section.items.map {
        "{\"id\":\(JSONValue.quoted($0.id.rawValue)),\"kind\":\(JSONValue.quoted($0.kind)),\"data\":\($0.dataText)}"
      }
      let order = section.order.map { keys in
        let keys = keys.map {
          "{\"by\":\(JSONValue.quoted($0.by))\($0.isDescending ? ",\"direction\":\"descending\"" : "")}"
        }
        return ",\"order\":[\(keys.joined(separator: ","))]"
      }
      return "{\"id\":\(JSONValue.quoted(section.id.rawValue)),\"data\":\(section.dataText)\(order ?? "")"
        + (section.keep.map { ",\"keep\":\($0)" } ?? "") + ",\"items\":[\(items.joined(separator: ","))]}"
    }
    return "[\(sections.joined(separator: ","))]"
  }
}
