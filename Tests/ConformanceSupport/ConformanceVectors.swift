public import Foundation

@testable public import Oracle

/// The files in `conformance`.
public enum ConformanceFiles {
  public static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("conformance")

  public static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: folder.appendingPathComponent(name)))
  }

  /// The lines of a file of JSON.
  public static func lines(_ name: String) throws -> [OracleJSON] { try lines(bytes(name)) }

  public static func lines(_ bytes: [UInt8]) throws -> [OracleJSON] {
    try bytes.split(separator: UInt8(ascii: "\n")).map { try OracleJSON.parse(Array($0)) }
  }

  /// The names of the files in a folder.
  public static func names(in name: String) -> [String] {
    let path = folder.appendingPathComponent(name).path
    return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

extension OracleJSON {
  /// A member that is a string, or the text of another value.
  public func text(_ name: String) -> String? {
    last(name).map { String(decoding: $0.string ?? $0.minified, as: UTF8.self) }
  }
}

/// The conformance vectors in a folder: those for stores with their input, and all generated files.
public struct ConformanceVectors: Sendable {
  public let stores: [StoreVector]
  public let replicas: [ReplicaVector]
  private let windows: [WindowVector]
  private let truths: [String: [String: OracleFeed]]

  public init() throws {
    stores = try ConformanceFiles.names(in: "store").map { try StoreVector($0) }
    var replicas: [ReplicaVector] = []
    var windows: [WindowVector] = []
    var truths: [String: [String: OracleFeed]] = [:]
    for store in stores {
      let result = try store.result()
      var truth: [String: OracleFeed] = [:]
      for change in result.changes {
        truth[ReplicaVector.name(change.key, change.epoch, change.revision)] = change.after
      }
      let log = ChangesetLog(result.records)
      for vector in store.isReplica ? Self.undamaged(store, log) : [] {
        replicas.append(vector)
        truths[vector.name] = truth
      }
      windows += Self.windows(store, result.changes)
      if store.name == "following" { replicas += try DamagedLogs(log).vectors() }
    }
    self.replicas = replicas
    self.windows = windows
    self.truths = truths
  }

  /// The log unchanged, and as compaction and slow followers see it.
  private static func undamaged(_ store: StoreVector, _ log: ChangesetLog) -> [ReplicaVector] {
    let sections = ["5", "11"]
    let title = String(decoding: store.title, as: UTF8.self)
    let all = log.lines.count
    var vectors = [ReplicaVector("\(store.name)", "\(title): the log as it was written", sections, log)]
    guard ["following", "lives", "random"].contains(store.name) else { return vectors }
    func add(_ name: String, _ title: String, _ log: ChangesetLog) {
      vectors.append(ReplicaVector("\(store.name)-\(name)", title, sections, log))
    }
    add("compacted", "a late reader of a log that was compacted to its end", log.compacted(first: all))
    add(
      "compacted-long-ago",
      "a late reader after delete.retention.ms, so that nulls are gone",
      log.compacted(first: all, keepsNulls: false)
    )
    for tenths in store.name == "random" ? [5] : [3, 5, 7] {
      let name = "compacted-to-\(tenths)-tenths"
      add(name, "a late reader of a log with a compacted head", log.compacted(first: all * tenths / 10))
    }
    for (read, count) in store.name == "random" ? [(3, 8)] : [(1, 6), (3, 8), (5, 10)] {
      add(
        "lagging-\(read)-\(count)",
        "a reader that has read \(read) tenths when \(count) tenths are compacted",
        log.lagging(read: all * read / 10, compacted: all * count / 10)
      )
    }
    return vectors
  }

  /// The messages for readers of windows.
  private static func windows(_ store: StoreVector, _ changes: [OracleChange]) -> [WindowVector] {
    guard ["following", "lives", "ordered-random", "random"].contains(store.name) else { return [] }
    // A stream has one feed with an id.
    var partitions: [[UInt8]: Int] = [:]
    for change in changes where partitions[change.key.id] == nil {
      partitions[change.key.id] = change.key.partition
    }
    let changes = changes.filter { partitions[$0.key.id] == $0.key.partition }
    func vector(_ name: String, _ title: String, _ windows: OracleWindow...) -> WindowVector {
      let title = "\(String(decoding: store.title, as: UTF8.self)): \(title)"
      return WindowVector("\(store.name)-\(name)", title, windows, changes)
    }
    let first = vector("first", "the first two items of each section", OracleWindow(count: 2))
    guard store.name == "random" else { return [first] }
    let slice = OracleWindow(sections: ["s3"], from: 2, count: 5)
    return [
      first, vector("heads", "no items, only how many there are", OracleWindow(count: 0)),
      vector("sections", "two sections", OracleWindow(sections: ["s1", "s4"])),
      vector("slice", "items in the middle of a section", slice),
      vector("changing", "other windows", OracleWindow(count: 3), slice, OracleWindow(count: 1)),
    ]
  }

  // MARK: - Files

  /// All generated files, by their paths in the folder.
  public func files(_ table: RuleTable) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for store in stores {
      for (name, bytes) in try store.files() { files["store/\(store.name)/\(name)"] = bytes }
    }
    for replica in replicas {
      files["replica/\(replica.name).ndjson"] = try replica.text(truth: truths[replica.name])
    }
    for window in windows { files["window/\(window.name).ndjson"] = window.text }
    files["manifest.json"] = try manifest(generated: files)
    files["rules.md"] = Array(table.text.utf8)
    return files
  }

  private func manifest(generated: [String: [UInt8]]) throws -> [UInt8] {
    var text = OracleText()
    text.add("{\n\"format\":1,\n\"protocol\":\"1.2\",\n\"store\":")
    addLines(
      stores.map { store in
        line(store.name, store.title) { text in
          text.addField("sections", json: store.sections)
          text.addField("settings", json: store.settingsText)
          text.add(",\"exact\":\(store.isExact)")
        }
      },
      to: &text
    )
    text.add(",\n\"replica\":")
    addLines(
      replicas.map { replica in
        line(replica.name, Array(replica.title.utf8)) { text in
          let sections = replica.sections.map { "\"\($0)\"" }.joined(separator: ",")
          text.add(",\"sections\":[\(sections)],\"file\":\"replica/\(replica.name).ndjson\"")
        }
      },
      to: &text
    )
    text.add(",\n\"window\":")
    addLines(
      windows.map { window in
        line(window.name, Array(window.title.utf8)) { text in
          text.addField("window", json: window.request)
          text.add(",\"file\":\"window/\(window.name).ndjson\"")
        }
      },
      to: &text
    )
    text.add(",\n\"files\":")
    addLines(try digests(generated), to: &text, "{", "}")
    text.add("\n}\n")
    return text.bytes
  }

  private func line(_ name: String, _ title: [UInt8], _ addMore: (inout OracleText) -> Void) -> [UInt8] {
    var text = OracleText()
    text.add("{")
    text.addField("name", string: Array(name.utf8), isFirst: true)
    text.addField("title", string: title)
    addMore(&text)
    text.add("}")
    return text.bytes
  }

  /// XXH32 and size of every file except the manifest, documentation and programs.
  private func digests(_ generated: [String: [UInt8]]) throws -> [[UInt8]] {
    var files = generated
    let names = ["checksum", "keys", "merge-patch", "partitioner", "rejections"].map { "\($0).ndjson" }
    let inputs = stores.map { "store/\($0.name)/input.ndjson" }
    let models = ["pending", "stream"].flatMap { folder in
      ConformanceFiles.names(in: folder).filter { $0.hasSuffix(".ndjson") }.map { "\(folder)/\($0)" }
    }
    for name in names + inputs + models {
      files[name] = try ConformanceFiles.bytes(name)
    }
    return files.sorted { $0.key < $1.key }.map { name, bytes in
      let digest = OracleChecksum.text(OracleXXH32.hash(bytes))
      return Array("\"\(name)\":{\"bytes\":\(bytes.count),\"xxh32\":\"\(digest)\"}".utf8)
    }
  }

  private func addLines(
    _ lines: [[UInt8]],
    to text: inout OracleText,
    _ start: String = "[",
    _ end: String = "]"
  ) {
    text.add(start + "\n")
    text.add(Array(lines.joined(separator: Array(",\n".utf8))))
    text.add("\n" + end)
  }
}
