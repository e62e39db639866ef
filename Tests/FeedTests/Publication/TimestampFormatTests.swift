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
}
