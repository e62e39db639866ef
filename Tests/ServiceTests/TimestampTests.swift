import Service
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

  @Test func `the wall clock's units agree`() {
    let before = WallClock.nanoseconds()
    let milliseconds = WallClock.milliseconds()
    #expect(milliseconds >= before / 1_000_000)
    // Later than this test was written.
    #expect(milliseconds > 1_700_000_000_000)
  }
}
