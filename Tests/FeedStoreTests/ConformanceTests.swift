import ChangesetTestSupport
import ConformanceSupport
import FeedChecks
import Foundation
import Oracle
import Testing

@testable import Feed

/// `ReplicaPartition` has the expected states after each record of the vectors in `conformance/replica`.
@Suite struct ConformanceTests {
  private static let names = ConformanceFiles.names(in: "replica")

  @Test func `there are vectors`() { #expect(Self.names.count >= 60) }

  @Test(arguments: names)
  func `every record leads to the vector's state`(name: String) throws {
    var partitions: [Int: ReplicaPartition] = [:]
    for (number, line) in try ConformanceFiles.lines("replica/\(name)").enumerated() {
      let place: Comment = "\(name), line \(number + 1)"
      var reader = ReplayLines()
      let record = reader.record(line)
      let partition = partitions[record.partition] ?? ReplicaPartition()
      partitions[record.partition] = partition
      let then = try #require(line.last("then"))
      let outcome = Result { () throws(ReplicaFault) in
        try partition.apply(record.key ?? [], record.value)
      }
      guard let feed = then.last("feed")?.string else {
        #expect(throws: ReplicaFault.self, place) { try outcome.get() }
        continue
      }
      let isRefused = if case .failure = outcome { true } else { false }
      let isMismatch = if case .success(.mismatch) = outcome { true } else { false }
      if then.last("refused") != nil {
        #expect(isRefused || isMismatch, place)
      } else {
        #expect(!isRefused, place)
      }
      let replica = partition.replica(of: String(decoding: feed, as: UTF8.self))
      let id = feed.withUnsafeBytes { ByteText(ByteSpan($0)) }
      let isStale = partition.staleReason(of: id) != nil
      #expect(replica?.epoch == then.last("epoch")?.string, place)
      #expect(replica.map { "\($0.revision)" } == then.text("revision"), place)
      #expect(replica.map { Replica.hexadecimal($0.checksum) } == then.text("checksum"), place)
      #expect(.boolean(isStale) == then.last("stale")?.content, place)
      let isIncomplete = isStale || then.last("waiting")?.content == .boolean(true)
      #expect((partition.lack(of: id) != nil || isStale) == isIncomplete, place)
      if let sections = then.last("sections") {
        #expect(replica?.oracleFeed.withoutEnds.sectionsText == sections.minified, place)
      }
      replica?.checkInvariants()
    }
  }

  @Test func `keys are parsed as in the vectors`() throws {
    for line in try ConformanceFiles.lines("keys.ndjson") {
      let key = try #require(line.last("key")?.string)
      key.withUnsafeBytes { bytes in
        let parsed = RecordKey(ByteSpan(bytes))
        let kind = parsed.map { $0.kind == .reload ? "k" : "d" }
        #expect(
          kind == line.last("kind")?.string.map { String(decoding: $0, as: UTF8.self) },
          "\(line.minified)"
        )
        #expect(parsed.map { "\($0.number)" } == line.text("number"))
        #expect(parsed.map { Array($0.feed.buffer) } == line.last("feed")?.string)
      }
    }
  }
}
