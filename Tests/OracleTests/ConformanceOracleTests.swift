import ConformanceSupport
import FeedStore
import Foundation
import Oracle
import Testing

/// The oracle passes the hand-written vectors in `conformance`.
@Suite struct ConformanceOracleTests {
  private func code(_ outcome: OracleOutcome) -> String? {
    if case .rejected(let rejection) = outcome { rejection.code.rawValue } else { nil }
  }

  @Test func `every rejection has its code`() throws {
    let vectors = try ConformanceFiles.lines("rejections.ndjson")
    for vector in vectors {
      let options = try ConformanceSettings(vector.last("settings")).options
      var oracle = Oracle(limits: options.limits, contentsTopic: options.topics.contents)
      var reader = ReplayLines()
      let records = (vector.last("records")?.elements ?? []).map { reader.record($0) }
      let found = records.map { code(oracle.take($0).outcome) }
      let expected = (vector.last("codes")?.elements ?? []).map { $0.string.map(text) }
      #expect(found == expected, "\(vector.last("name")?.string.map(text) ?? "")")
    }
    let codes = Set(vectors.flatMap { $0.last("codes")?.elements ?? [] }.compactMap { $0.string.map(text) })
    #expect(codes == Set(OracleRejectCode.allCases.map(\.rawValue)))
  }

  @Test func `every patch has its bytes`() throws {
    for vector in try ConformanceFiles.lines("merge-patch.ndjson") {
      let data = try OracleJSON.parse(vector.last("data")?.string ?? [])
      let patch = try OracleJSON.parse(vector.last("patch")?.string ?? [])
      #expect(OracleMergePatch.merge(patch, into: data) == vector.last("result")?.string)
    }
  }

  @Test func `every feed has its checksum`() throws {
    for vector in try ConformanceFiles.lines("checksum.ndjson") {
      let feed = OracleFeed(vector.last("sections")?.elements ?? [])
      let checksum = OracleChecksum.text(OracleChecksum.of(feed))
      #expect(checksum == vector.last("checksum")?.string.map(text))
      for term in vector.last("terms")?.elements ?? [] {
        let hash = OracleXXH32.hash(term.last("text")?.string ?? [])
        #expect(OracleChecksum.text(hash) == term.last("xxh32")?.string.map(text))
      }
    }
  }
}
