import Feed
import FeedStore
import FeedTestSupport
import FeedTools
import Foundation
import Oracle
import Testing

/// The amount of output follows the changes, however large the feed is.
struct WrittenBytesTests {
  /// The bytes of the values that a replay wrote: the first reload, all other reloads and keyframes, and deltas.
  private struct Written {
    var first = 0
    var reloads = 0
    var deltas = 0
    var all: Int { first + reloads + deltas }
  }

  private func replay(
    _ records: [String],
    _ settings: (inout FeedStoreOptions) -> Void = { _ in }
  ) async throws -> Written {
    var options = FeedStoreOptions()
    settings(&options)
    var written = Written()
    for line in try await ReplayRun(records.joined().utf8, options).output.split(separator: "\n") {
      guard let value = line.range(of: ",\"value\":"), let key = line.range(of: ",\"key\":\"") else {
        continue
      }
      let bytes = line[value.upperBound...].utf8.count - 1
      if line[key.upperBound...].hasPrefix("d") {
        written.deltas += bytes
      } else if line.contains("\"reason\":\"initial\"") {
        written.first += bytes
      } else {
        written.reloads += bytes
      }
    }
    return written
  }

  private func line(_ milliseconds: Int, _ value: String) -> String {
    #"{"ts":\#(milliseconds),"key":"f","value":\#(value)}"# + "\n"
  }

  private func insert(_ number: Int) -> String {
    #"{"op":"item.upsert","item":"item-\#(number)","section":"s","kind":"k","data":"\#(number)\#(padding)"}"#
  }

  private let padding = String(repeating: "x", count: 150)

  @Test(arguments: [1, 10, 250]) func `filling a feed item by item writes at most three times its input`(
    recordsInAwindow: Int
  ) async throws {
    let values = (0..<4_000).map(insert)
    let records = values.enumerated().map { line($0 / recordsInAwindow * 1_000, $1) }
    let written = try await replay(records)
    // Heads of changesets are not part of the limit: in a window of one record, they dominate.
    let heads = 4_000 / recordsInAwindow * 400
    #expect(written.all <= 3 * values.reduce(heads) { $0 + $1.utf8.count }, "\(written)")
    #expect(written.reloads > 0, "keyframes come")
  }

  @Test func `small changes to a large feed cause keyframes only in proportion to their size`() async throws {
    let feed = (0..<3_000).map { line(0, insert($0)) }
    let updates = (0..<4_000).map { number in
      line(1_000 * (number + 1), #"{"op":"item.upsert","item":"item-\#(number % 3_000)","data":\#(number)}"#)
    }
    // The limit on deltas is reached ten times as often as the limit on bytes.
    let written = try await replay(feed + updates) { $0.keyframe.maxDeltas = 100 }
    #expect(written.reloads <= 2 * written.deltas, "\(written)")
    #expect(written.reloads > 0, "keyframes come")
  }
}
