import ConformanceSupport
import Feed
import FeedStore
import FeedTestSupport
import Foundation
import Oracle
import Testing

@testable import FeedConfiguration
@testable import FeedTools

/// `feedstore replay` passes the vectors in `conformance`.
@Suite struct ConformanceTests {
  private static let names = ConformanceFiles.names(in: "store")

  /// The output and the rejected records for an input.
  private func replay(
    _ input: [UInt8],
    _ settings: ConformanceSettings
  ) async throws -> (output: [UInt8], rejected: [OracleJSON]) {
    let run = try await ReplayRun(input, settings.options)
    return (Array(run.output.utf8), try ConformanceFiles.lines(Array(run.rejected.utf8)))
  }

  private func header(_ name: String, of line: OracleJSON) -> String? {
    let words = line.last("headers")?.elements?.compactMap(\.string) ?? []
    guard let place = words.firstIndex(of: Array(name.utf8)) else { return nil }
    return String(decoding: words[place + 1], as: UTF8.self)
  }

  // MARK: - Inputs and outputs

  @Test func `there are vectors`() { #expect(Self.names.count >= 15) }

  @Test(arguments: names)
  func `the output equals the vector's`(name: String) async throws {
    let vector = try StoreVector(name)
    let (output, rejected) = try await replay(vector.input, vector.settings)
    if vector.isExact {
      let expected = try ConformanceFiles.bytes("store/\(name)/output.ndjson")
      let differing = zip(
        output.split(separator: UInt8(ascii: "\n")),
        expected.split(separator: UInt8(ascii: "\n"))
      ).first { $0 != $1 }
      #expect(
        output == expected,
        """
        \(differing.map { String(decoding: $0.0, as: UTF8.self) } ?? "the number of lines")
        expected \(differing.map { String(decoding: $0.1, as: UTF8.self) } ?? "")
        """
      )
    }
    try checkStates(output, of: name)
    let codes = rejected.map { line in
      ["topic", "partition", "offset"].map { header("feedstore.source.\($0)", of: line) ?? "" }
        + [line.text("ts") ?? "", header("feedstore.error.code", of: line) ?? ""]
    }
    let expected = try ConformanceFiles.lines("store/\(name)/rejected.ndjson").map { line in
      ["topic", "partition", "offset", "ts", "code"].map { line.text($0) ?? "" }
    }
    #expect(codes == expected)
  }

  /// Applies the output, and compares each state with the vector's, in order.
  private func checkStates(_ output: [UInt8], of name: String) throws {
    var follower = OracleFollower()
    var found: [String: OracleFeed] = [:]
    for record in try ReplayLines.records(output) {
      let outcome = follower.take(partition: record.partition, key: record.key, value: record.value)
      let feed = try #require(outcome.feed)
      guard let replica = follower.replicas[feed], let state = replica.state, !replica.isStale else {
        continue
      }
      found["\(feed.partition) \(feed.id) \(replica.epoch) \(replica.revision)"] = state
    }
    for line in try ConformanceFiles.lines("store/\(name)/states.ndjson")
    where line.last("deleted") == nil {
      let feed = line.last("feed")?.string ?? []
      let place = "\(line.text("partition") ?? "") \(feed) \(line.last("epoch")?.string ?? [])"
      let state = found["\(place) \(line.text("revision") ?? "")"]
      #expect(state?.sectionsText == line.last("sections")?.minified)
      #expect(state.map { OracleChecksum.text(OracleChecksum.of($0)) } == line.text("checksum"))
    }
  }

  // MARK: - Rejections, patches, partitions

  @Test func `every rejection has the vector's code`() async throws {
    for vector in try ConformanceFiles.lines("rejections.ndjson") {
      let name = vector.text("name") ?? ""
      let settings = try ConformanceSettings(vector.last("settings"))
      let records = vector.last("records")?.elements ?? []
      let input = records.flatMap { $0.minified + Array("\n".utf8) }
      let (_, rejected) = try await replay(input, settings)
      var found: [String?] = Array(repeating: nil, count: records.count)
      for line in rejected {
        // Only the records of one partition of an input are rejected.
        let offset = try #require(Int(header("feedstore.source.offset", of: line) ?? ""))
        found[offset] = header("feedstore.error.code", of: line)
      }
      let codes = (vector.last("codes")?.elements ?? []).map { code in
        code.string.map { String(decoding: $0, as: UTF8.self) }
      }
      #expect(found == codes, "\(name)")
    }
  }

  @Test func `every patch has the vector's bytes`() async throws {
    let vectors = try ConformanceFiles.lines("merge-patch.ndjson")
    var input = ""
    for (number, vector) in vectors.enumerated() {
      let (data, patch) = (try #require(vector.text("data")), try #require(vector.text("patch")))
      input +=
        #"{"key":"f","value":{"op":"item.upsert","item":"\#(number)","section":"s","data":\#(data)}}"# + "\n"
      input += #"{"key":"f","value":{"op":"item.patch","item":"\#(number)","data":\#(patch)}}"# + "\n"
    }
    let (output, rejected) = try await replay(Array(input.utf8), try ConformanceSettings(nil))
    #expect(rejected.isEmpty)
    let reload = try #require(try ConformanceFiles.lines(output).first?.last("value"))
    let items = reload.last("sections")?.elements?.first?.last("items")?.elements ?? []
    #expect(items.count == vectors.count)
    for (item, vector) in zip(items, vectors) {
      let data = item.last("data").map { String(decoding: $0.minified, as: UTF8.self) }
      #expect(
        data == vector.text("result"),
        "\(vector.text("data") ?? "") with \(vector.text("patch") ?? "")"
      )
    }
  }

  @Test func `every key has the vector's partition`() throws {
    for vector in try ConformanceFiles.lines("partitioner.ndjson") {
      guard case .object(let counts)? = vector.last("partitions")?.content else { continue }
      for count in counts {
        let number = try #require(Int32(String(decoding: count.name, as: UTF8.self)))
        var route = PublishRoute("feeds.items", isInput: true, partitionCount: number)
        let key = try #require(vector.last("key")?.string)
        let partition = try key.withUnsafeBytes { try route.partition(key: $0, recorded: 77) }
        #expect("\(partition)" == String(decoding: count.value.minified, as: UTF8.self))
      }
    }
  }
}
