import Feed
import FeedStore
import FeedTestSupport
import Foundation
import Testing

/// The beginnings of real histories, judged like random ones. They lie beside the checkout on some
/// machines only; `FEEDSTORE_DATA` names another folder, and `FEEDSTORE_DATA_LINES` how much to read.
@Suite struct RealDataTests {
  private static let folder: URL = {
    if let folder = ProcessInfo.processInfo.environment["FEEDSTORE_DATA"] {
      return URL(fileURLWithPath: folder)
    }
    return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared/data")
  }()

  private static let files = [
    ("covid-italy.events", 1500), ("github-ranking.events", 6000), ("playlists.replace", 60),
    ("power-outages.events", 2500), ("power-outages.replace", 12), ("public-apis.dirty.replace", 30),
  ]

  private static var isAbsent: Bool {
    let isAbsent = !FileManager.default.fileExists(atPath: folder.path)
    if isAbsent { print("the real replay files are not at \(folder.path): their tests are skipped") }
    return isAbsent
  }

  /// The first lines of a file, read through xz.
  private func lines(_ name: String, _ count: Int) throws -> [[UInt8]] {
    let pipe = Pipe()
    let xz = Process()
    xz.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    xz.arguments = [
      "sh", "-c", "xz -dc \"$1\" | head -n \(count)", "sh",
      Self.folder.appendingPathComponent("\(name).ndjson.xz").path,
    ]
    xz.standardOutput = pipe
    try xz.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    xz.waitUntilExit()
    return data.split(separator: 0x0A).map(Array.init)
  }

  @Test(
    .disabled(if: RealDataTests.isAbsent, "the real replay files are not beside the checkout"),
    arguments: files
  )
  func `a real history is published as the oracle says`(name: String, count: Int) async throws {
    let count = ProcessInfo.processInfo.environment["FEEDSTORE_DATA_LINES"].flatMap(Int.init) ?? count
    let parser = ReplayLineParser()
    var records: [OracleRecord] = []
    for line in try lines(name, count) {
      try line.withUnsafeBytes { bytes in
        guard let record = try parser.parse(ByteSpan(bytes)) else { return }
        records.append(
          OracleRecord(
            topic: String(decoding: record.position.topic, as: UTF8.self),
            partition: Int(record.partition),
            offset: Int(record.position.offset),
            timestamp: Int(record.position.timestamp),
            key: record.key.map { Array($0.buffer) },
            value: record.valueBytes.map { Array($0.buffer) }
          )
        )
      }
    }
    #expect(records.count == count)
    var driver = StoreDriver()
    let replicas = ReplicaPartition()
    driver.onFlush = { output in
      for record in output {
        if case .mismatch(let fault) = try replicas.apply(record) { throw fault }
      }
    }
    try await driver.run(records, checkingInvariants: false)
    #expect(
      replicas.replicas.map(\.checksum) == (await driver.store.summaries()).map(\.checksum)
    )
  }
}
