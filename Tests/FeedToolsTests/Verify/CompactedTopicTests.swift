import ChangesetTestSupport
import Feed
import FeedStore
import FeedVerification
import Oracle
import Testing

/// Outputs of random replays after compaction: valid, unless a required record is missing.
@Suite struct CompactedTopicTests {
  private struct Line {
    var offset: Int64
    var key: [UInt8]
    var value: [UInt8]?
    var headers: [JudgedHeader]
  }

  /// The records of each partition.
  private func partitions(_ replay: VerifiedReplay) throws -> [Int32: [Line]] {
    var partitions: [Int32: [Line]] = [:]
    for line in replay.lines {
      let record = try JudgedRecord(replayLine: Array(line.utf8))
      let offset = Int64(partitions[Int32(record.partition), default: []].count)
      partitions[Int32(record.partition), default: []].append(
        Line(offset: offset, key: record.key, value: record.value, headers: record.headers)
      )
    }
    return partitions
  }

  /// The lines after compaction of the first records: the newest of each key, perhaps without nulls.
  private func compacted(_ lines: [Line], first count: Int, dropsNulls: Bool) -> [Line] {
    var newest: [[UInt8]: Int64] = [:]
    for line in lines.prefix(count) { newest[line.key] = line.offset }
    return lines.enumerated().filter { position, line in
      position >= count || newest[line.key] == line.offset && !(dropsNulls && line.value == nil)
    }.map(\.element)
  }

  private func verify(_ lines: [Line], _ options: VerificationOptions) -> [VerificationFault] {
    let verifier = ChangesetVerifier(options)
    var faults: [VerificationFault] = []
    for line in lines {
      let bytes = ByteWriter()
      func append(_ field: [UInt8]) -> Range<Int> {
        let start = bytes.count
        for byte in field { bytes.append(byte) }
        return start..<bytes.count
      }
      let key = append(line.key)
      let value = line.value.map(append)
      let headers = line.headers.flatMap { [append(Array($0.name.utf8)), append($0.value)] }
      faults += verifier.check(
        VerifiedRecord(
          key: bytes.span(key),
          value: value.map { bytes.span($0) },
          headers: headers.map { bytes.span($0) },
          timestamp: nil,
          location: VerificationLocation(source: 0, position: line.offset)
        ),
        in: 0
      )
    }
    return faults + verifier.finish()
  }

  private func options(_ setting: RandomSetting) -> VerificationOptions {
    VerificationOptions(
      keyframes: setting.options.keyframe,
      output: setting.options.output,
      mayBeCompacted: true
    )
  }

  @Test(arguments: RandomSetting.ofVerification, 71...72 as ClosedRange<UInt64>)
  func `a compacted output is valid, wherever the cleaner stopped`(
    setting: RandomSetting,
    seed: UInt64
  ) async throws {
    let replay = try await VerifiedReplay(seed: seed, setting, count: 400)
    var random = SplitMix64(seed: seed)
    // Sorted, because the random choices depend on the order.
    for (partition, lines) in try partitions(replay).sorted(by: { $0.key < $1.key }) {
      for _ in 0..<12 {
        let count = random.below(lines.count + 1)
        let left = compacted(lines, first: count, dropsNulls: random.chance(50))
        let faults = verify(left, options(setting))
        #expect(faults == [], "setting \(setting), seed \(seed), partition \(partition), \(count) cleaned")
      }
    }
  }

  @Test(arguments: RandomCases.seeds(73...75))
  func `the reload that the final state depends on may not be missing`(seed: UInt64) async throws {
    let replay = try await VerifiedReplay(seed: seed, .keyframes, count: 400)
    for lines in try partitions(replay).values {
      let left = compacted(lines, first: lines.count, dropsNulls: true)
      // Changes after a feed's last reload.
      let reload = left.indices.last { index in
        let feed = left[index].key.drop { $0 != UInt8(ascii: "/") }
        let next = left[(index + 1)...].first { $0.key.hasSuffix(feed) }
        return left[index].key.starts(with: Array("k0/".utf8)) && next?.key.first == UInt8(ascii: "d")
          && next?.value != nil
      }
      guard let reload else { continue }
      var torn = left
      let removed = torn.remove(at: reload)
      let feed = String(decoding: removed.key.dropFirst(3), as: UTF8.self)
      let faults = verify(torn, options(.keyframes))
      #expect(faults.count == 1 && faults.first?.feed == feed, "seed \(seed): \(faults)")
      #expect(faults.first?.message.contains("no later reload makes up for it") == true)
    }
  }

  @Test func `through may begin again in a topic, as after lost input, and not in a file`() {
    func line(_ revision: Int, _ key: String, _ value: String) -> Line {
      let time = "1970-01-01T00:00:00.000Z"
      let headers = [
        ("content-type", "application/json"), ("ce_specversion", "1.0"), ("ce_type", "feedstore.changeset"),
        ("ce_source", "/feedstore"), ("ce_id", "f@feeds.items/5@\(revision)/0"), ("ce_subject", "f"),
        ("ce_time", time), ("ce_sequence", "0000000000000000000\(revision)"),
      ]
      let head = #"{"feed":"f","epoch":"feeds.items/5","revision":\#(revision),"base":\#(revision - 1),"#
      return Line(
        offset: Int64(revision - 1),
        key: Array(key.utf8),
        value: Array((head + value.replacing("TIME", with: time)).utf8),
        headers: headers.map { JudgedHeader($0.0, Array($0.1.utf8)) }
      )
    }
    let lines = [
      line(
        1,
        "k0/f",
        #""mode":"reload","reason":"initial","time":"TIME","through":{"feeds.items":5},"checksum":"1932377a","sections":[{"id":"s","data":null,"items":[{"id":"a","kind":"","data":null},{"id":"b","kind":"","data":null},{"id":"c","kind":"","data":null}]}]}"#
      ),
      line(
        2,
        "d1/f",
        #""mode":"reconfigure","time":"TIME","through":{"feeds.items":0},"checksum":"1932377a","items":{"reconfigure":[{"id":"a","section":"s","index":0,"data":1}]}}"#
      ),
    ]
    var options = options(.keyframes)
    options.keyframes = KeyframePolicy()
    #expect(verify(lines, options) == [])
    options.mayBeCompacted = false
    #expect(verify(lines, options).map(\.message).first?.contains("through") == true)
  }

  @Test func `a gap in a file is a fault even if a reload closes it`() async throws {
    let replay = try await VerifiedReplay(seed: 76, .keyframes, count: 400)
    let lines = try #require(try partitions(replay).values.first)
    var options = options(.keyframes)
    options.mayBeCompacted = false
    #expect(verify(lines, options) == [])
    #expect(verify(compacted(lines, first: lines.count, dropsNulls: false), options) != [])
  }
}

extension [UInt8] {
  fileprivate func hasSuffix(_ suffix: ArraySlice<UInt8>) -> Bool {
    self.suffix(suffix.count).elementsEqual(suffix)
  }
}
