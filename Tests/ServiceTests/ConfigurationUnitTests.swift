import Service
import Testing

struct ConfigurationUnitTests {
  @Test(arguments: [
    ("0ms", 0), ("100ms", 100), ("2s", 2_000), ("1.5s", 1_500), ("0.001s", 1), ("5m", 300_000),
    ("5min", 300_000),
    ("1h", 3_600_000), ("1d", 86_400_000), ("2 s", 2_000), ("106751991167d", 9_223_372_036_828_800_000),
  ])
  func `a duration can have a unit`(text: String, milliseconds: Int64) {
    #expect(ConfigurationUnit.milliseconds.number(text) == milliseconds)
  }

  @Test(arguments: [
    ("1B", 1), ("64kB", 64_000), ("64KB", 64_000), ("64KiB", 65_536), ("8MiB", 8_388_608), ("8MB", 8_000_000),
    ("1.5GiB", 1_610_612_736), ("2TB", 2_000_000_000_000), ("1TiB", 1_099_511_627_776),
  ])
  func `a size can have a unit`(text: String, bytes: Int64) {
    #expect(ConfigurationUnit.bytes.number(text) == bytes)
  }

  @Test(arguments: [
    "", "1", "ms", "1.5ms", "-1s", "+1s", "1..5s", ".5s", "1.s", "1 000ms", "1  s", "1S", "1MS", "1µs", "１s",
    "1e3s",
    "9223372036854775807s", "99999999999999999999ms", "0.0000000001d", "106751991168d", "8MiB",
  ])
  func `a duration that is not a whole number of milliseconds is refused`(text: String) {
    #expect(ConfigurationUnit.milliseconds.number(text) == nil)
  }

  @Test func `every power of ten that a duration can have is exact`() {
    for power in 0...9 {
      let number = (0..<power).reduce(Int64(1)) { product, _ in product * 10 }
      #expect(ConfigurationUnit.milliseconds.number("\(number)s") == number * 1_000)
      #expect(ConfigurationUnit.bytes.number("\(number)KiB") == number << 10)
    }
  }
}
