import Feed
import Testing

@testable import FeedVerification

@Suite struct ChangesetTimeTests {
  private func milliseconds(_ text: String) -> Int64? {
    Array(text.utf8).withUnsafeBytes { ChangesetTime.milliseconds(ByteSpan($0)) }
  }

  @Test func `a time is read as the milliseconds that it was written from`() {
    let edges = [TimestampFormat.range.lowerBound, TimestampFormat.range.upperBound]
    for time in edges + [-1, 0, 1, 951_782_399_999, 951_782_400_000, 1_764_000_000_250] {
      let output = ByteWriter()
      TimestampFormat.append(time, to: output)
      #expect(ChangesetTime.milliseconds(output.written) == time)
    }
  }

  @Test(arguments: [
    "2026-02-29T00:00:00.000Z", "2026-02-30T00:00:00.000Z", "2026-13-01T00:00:00.000Z",
    "2026-00-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z", "2026-01-01T24:00:00.000Z",
    "2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z", "2026-01-01T00:00:00.000z",
    "2026-01-01 00:00:00.000Z", "2026-01-01T00:00:00,000Z", "2026-01-01T00:00:00.00Z", "",
  ])
  func `a date that does not exist, or another form, is no time`(text: String) {
    #expect(milliseconds(text) == nil)
  }
}
