import Oracle
import Testing

@testable import Feed

@Suite struct TimestampFormatTests {
  @Test(
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (1_763_632_800_250, "2025-11-20T10:00:00.250Z"),
      (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
    ] as [(Int64, String)]
  )
  func `writes RFC 3339 with three digits`(milliseconds: Int64, text: String) {
    #expect(written { TimestampFormat.append(milliseconds, to: $0) } == text)
  }

  @Test func `agrees with the oracle on random times`() {
    var random = SplitMix64(seed: 9)
    for _ in 0..<2000 {
      let milliseconds = Int64(random.next() % 315_569_520_000_000) - 62_167_219_200_000
      #expect(
        written { TimestampFormat.append(milliseconds, to: $0) }
          == String(decoding: Array(OracleTime.text(milliseconds: Int(milliseconds)).utf8), as: UTF8.self)
      )
    }
  }

  private func milliseconds(_ text: String) -> Int64? {
    Array(text.utf8).withUnsafeBytes { TimestampFormat.milliseconds(ByteSpan($0)) }
  }

  @Test func `a time is read as the milliseconds that it was written from`() {
    let edges = [TimestampFormat.range.lowerBound, TimestampFormat.range.upperBound]
    for time in edges + [-1, 0, 1, 951_782_399_999, 951_782_400_000, 1_764_000_000_250] {
      let output = ByteWriter()
      TimestampFormat.append(time, to: output)
      #expect(TimestampFormat.milliseconds(output.written) == time)
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
