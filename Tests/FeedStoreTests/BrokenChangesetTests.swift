import ChangesetTestSupport
import Feed
import FeedChecks
import FeedStore
import Foundation
import Oracle
import Testing

@Suite struct BrokenChangesetTests {
  private func record(_ key: String, _ value: String?) -> JudgedRecord {
    JudgedRecord(
      partition: 0,
      key: Array(key.utf8),
      value: value.map { Array($0.utf8) },
      headers: [],
      timestamp: 0
    )
  }

  private func head(_ revision: Int, _ mode: String) -> String {
    #""feed":"f","epoch":"t/0","revision":\#(revision),"base":\#(revision - 1),"mode":"\#(mode)","#
      + #""time":"2026-01-01T00:00:00.000Z","through":{"t":\#(revision)},"#
  }

  @Test(arguments: [
    #""items":{"insert":[{"id":"x","section":"s","kind":"","data":1}]}"#,
    #""items":{"insert":[{"id":"x","section":"s","index":9,"kind":"","data":1}]}"#,
    #""items":{"insert":[{"id":"x","section":"none","index":0,"kind":"","data":1}]}"#,
    #""items":{"insert":[{"id":"a","section":"s","index":0,"kind":"","data":1}]}"#,
    #""items":{"move":[{"id":"a"}]}"#,
    #""items":{"move":[{"id":"a","from":{"section":"s","index":0}}]}"#,
    #""items":{"move":[{"id":"a","from":{"section":"s","index":1},"to":{"section":"s","index":1}}]}"#,
    #""items":{"delete":[{"id":"a"}]}"#, #""items":{"delete":[{"id":"zz","section":"s","index":0}]}"#,
    #""items":{"delete":[{"id":"a","section":"t","index":0}]}"#,
    #""items":{"insert":[{"id":"x","section":"s","index":0,"kind":"k"}]}"#,
    #""items":{"reload":[{"id":"a","section":"s","index":0,"data":1}]}"#,
    #""sections":{"insert":[{"id":"u","index":0}]}"#,
    #""items":{"reconfigure":[{"id":"a","section":"s","data":2}]}"#,
    #""items":{"reload":[{"id":"a","section":"s","index":1,"kind":"k","data":2}]}"#,
    #""sections":{"insert":[{"id":"u","data":null}]}"#, #""sections":{"move":[{"id":"s","from":0}]}"#,
    #""sections":{"delete":[{"id":"s","index":1}]}"#,
    #""sections":{"reconfigure":[{"id":"u","index":0,"data":1}]}"#,
    #""items":{"reconfigure":[{"id":"a","section":"s","index":0,"data":2}]},"sections":{}"#,
  ])
  func `a delta that does not fit is a mismatch and changes nothing`(lists: String) throws {
    let replicas = ReplicaPartition()
    let reload =
      "{\(head(1, "reload"))" + #""checksum":"CHECKSUM","reason":"initial","sections":"#
      + #"[{"id":"s","data":null,"items":[{"id":"a","kind":"","data":null},{"id":"b","kind":"","data":null}]}]}"#
    // The error of the first attempt contains the right checksum.
    guard
      case .mismatch(let fault) = try replicas.apply(
        record("k0/f", reload.replacing("CHECKSUM", with: "00000000"))
      )
    else {
      Issue.record("a reload with a wrong checksum was taken")
      return
    }
    let checksum = try #require(fault.message.firstMatch(of: /checksum is ([0-9a-f]{8})/)?.1)
    guard case .applied = try replicas.apply(record("k0/f", reload.replacing("CHECKSUM", with: checksum)))
    else {
      Issue.record("a good reload was not taken")
      return
    }
    let before = try #require(replicas.replica(of: "f")).oracleFeed
    // The checksum of the old state: any change would be a mismatch.
    let delta = "{\(head(2, "diff"))" + #""checksum":"0badcafe",\#(lists)}"#
    guard case .mismatch = try replicas.apply(record("d1/f", delta)) else {
      Issue.record("taken: \(lists)")
      return
    }
    let replica = try #require(replicas.replica(of: "f"))
    replica.checkInvariants()
    #expect(replica.oracleFeed == before && replica.revision == 1 && replica.isStale)
  }

  @Test func `feeds with canonically equivalent ids are two feeds`() throws {
    let replicas = ReplicaPartition()
    for id in ["\u{e9}", "e\u{301}"] {
      let reload =
        #"{"feed":"\#(id)","epoch":"t/0","revision":1,"base":0,"mode":"reload","reason":"initial","#
        + #""time":"2026-01-01T00:00:00.000Z","through":{"t":1},"checksum":"00000000"}"#
      guard case .applied = try replicas.apply(record("k0/\(id)", reload)) else {
        Issue.record("not applied")
        return
      }
    }
    #expect(replicas.replicas.count == 2)
  }

  /// As bytes it would be a valid key, but it is not valid text, by which feeds are found.
  @Test func `an id with an unpaired surrogate escape is refused`() throws {
    let value =
      #"{"feed":"\ud800","epoch":"t/0","revision":1,"base":0,"mode":"reload","reason":"initial","#
      + #""time":"2026-01-01T00:00:00.000Z","through":{"t":1},"checksum":"00000000"}"#
    var record = record("k0/", value)
    record.key += [0xED, 0xA0, 0x80]
    let replicas = ReplicaPartition()
    let fault = #expect(throws: ReplicaFault.self) { try replicas.apply(record) }
    #expect(fault?.code == .invalidChangeset)
    #expect(replicas.replicas.isEmpty)
  }

  /// No input crashes a follower or corrupts its state.
  @Test(arguments: RandomCases.seeds(1...4))
  func `mutated records are refused or applied, never fatal`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var generator = RecordGenerator(
      seed: seed,
      options: seed.isMultiple(of: 2) ? .orderedSections : GeneratorOptions()
    )
    var log: [JudgedRecord] = []
    var driver = StoreDriver()
    driver.onFlush = { log += $0 }
    try await driver.run(generator.records(600), checkingInvariants: false)

    let alphabet = Array(#"0123456789{}[]",:-abk"#.utf8)
    let replicas = ReplicaPartition()
    for record in log {
      for _ in 0..<6 {
        var mutated = record
        if var value = record.value {
          for _ in 0...random.below(3) where !value.isEmpty {
            let position = random.below(value.count)
            switch random.below(4) {
            case 0: value.remove(at: position)
            case 1: value.insert(alphabet[random.below(alphabet.count)], at: position)
            case 2: value.removeSubrange(position..<min(value.count, position + random.below(20)))
            default: value[position] = alphabet[random.below(alphabet.count)]
            }
          }
          mutated.value = value
        }
        do throws(ReplicaFault) { _ = try replicas.apply(mutated) } catch { continue }
      }
      do throws(ReplicaFault) { _ = try replicas.apply(record) } catch { continue }
      for replica in replicas.replicas { replica.checkInvariants() }
    }
    #expect(log.count > 100)
  }

  @Test(arguments: ["feed", "epoch", "revision", "base", "mode", "time", "through", "checksum"])
  func `a duplicate field does not replace a missing one`(missing: String) throws {
    let fields = [
      ("feed", "\"f\""), ("epoch", "\"t/0\""), ("revision", "1"), ("base", "0"), ("mode", "\"reload\""),
      ("time", "\"2026-01-01T00:00:00.000Z\""), ("through", "{}"), ("checksum", "\"00000000\""),
    ]
    func value(_ fields: [(String, String)]) -> String {
      "{" + fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }
    guard case .applied = try ReplicaPartition().apply(record("k0/f", value(fields + fields.prefix(3))))
    else {
      Issue.record("a reload whose fields stand twice was not taken")
      return
    }
    let some = fields.filter { $0.0 != missing }
    #expect(throws: ReplicaFault.self) {
      try ReplicaPartition().apply(record("k0/f", value(some + some.prefix(1))))
    }
    #expect(throws: ReplicaFault.self) { try ReplicaPartition().apply(record("k0/f", value(some))) }
  }
}
