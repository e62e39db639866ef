import OperatingSystem
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    (0, "1970-01-01T00:00:00.000Z"),
    (-1, "1969-12-31T23:59:59.999Z"),
    (1_795_168_800_250, "2026-11-20T10:00:00.250Z"),
    (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    (951_868_800_000, "2000-03-01T00:00:00.000Z"),
    (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
    (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
    (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
    (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
  ])
  func aTimeIsWrittenAsRfc3339(_ milliseconds: Int64, text: String) {
    #expect(Timestamp.rfc3339(milliseconds: milliseconds) == text)
  }

  @Test func `extreme times can be formatted`() {
    #expect(Timestamp.rfc3339(milliseconds: .max).hasSuffix(".807Z"))
    #expect(Timestamp.rfc3339(milliseconds: .min).hasPrefix("-"))
  }

  @Test func `the monotonic clock does not go back`() {
    var last = MonotonicClock.nanoseconds()
    for _ in 0..<1000 {
      let now = MonotonicClock.nanoseconds()
      #expect(now >= last)
      last = now
    }
    #expect(MonotonicClock.milliseconds() >= last / 1_000_000)
  }

  @Test func `the wall clock is later than this test was written`() {
    #expect(WallClock.milliseconds() > 1_700_000_000_000)
  }
}

@Suite struct TimestampReadingTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2026-11-20T10:00:00.250Z", 1_795_168_800_250),
      ("2026-11-20", 1_795_132_800_000),
      ("2026-11-20T11:30:00+01:30", 1_795_168_800_000), ("2026-11-20T08:00:00-02:00", 1_795_168_800_000),
      ("2024-02-29T23:59:59.9Z", 1_709_251_199_900), ("1969-12-31T23:59:59.999999Z", -1),
      ("0000-03-01", -62_162_035_200_000),
      ("90s", 999_910_000), ("15m", 999_100_000), ("6h", 978_400_000), ("7d", 395_200_000),
      ("0s", 1_000_000_000),
    ] as [(String, Int64)]
  )
  func `a time, a date and a duration ago are parsed`(text: String, expected: Int64) {
    #expect(Timestamp.milliseconds(since: text, now: 1_000_000_000) == expected)
  }

  @Test(arguments: 0..<200)
  func `written times can be parsed`(number: Int) {
    var random = SystemRandomNumberGenerator()
    // In the years 0 to 9999.
    let time = Int64.random(in: -62_167_219_200_000...253_402_300_799_999, using: &random)
    #expect(Timestamp.milliseconds(since: Timestamp.rfc3339(milliseconds: time), now: 0) == time)
  }

  @Test(arguments: [
    "", "now", "yesterday", "2026-13-01", "2026-02-29", "2026-00-10", "2026-11-20T24:00:00Z",
    "2026-11-20T10:00Z",
    "2026-11-20T10:00:00", "-5m", "5", "5w", "1.5h", "99999999999d", "٣h",
  ])
  func `anything else is refused`(text: String) {
    #expect(Timestamp.milliseconds(since: text, now: 0) == nil)
  }
}
