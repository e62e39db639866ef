import Diagnostics
import Testing

@Suite struct QuantityTests {
  @Test(arguments: [
    (0, "0"), (999, "999"), (1000, "1,000"), (-1000, "-1,000"), (-999, "-999"), (1_234_567, "1,234,567"),
    (Int.min, "-9,223,372,036,854,775,808"),
  ])
  func `a count has thousands separators`(_ value: Int, text: String) {
    #expect(Quantity.count(value) == text)
  }

  @Test(arguments: [
    (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345_678, "12.3 MB"), (999_949, "999.9 kB"),
    (999_950, "1.0 MB"), (Int.max, "9.2 EB"), (-1500, "-1.5 kB"),
  ])
  func `sizes have a unit`(_ value: Int, text: String) {
    #expect(Quantity.bytes(value) == text)
  }

  @Test(arguments: [
    (0, "0 µs"), (850_999, "850 µs"), (12_345_678, "12.3 ms"), (4_560_000_000, "4.56 s"),
    (125_000_000_000, "2:05"), (3_725_000_000_000, "1:02:05"), (-125_000_000_000, "-2:05"),
  ])
  func `a duration has a suitable unit`(_ nanoseconds: Int64, text: String) {
    #expect(Quantity.duration(nanoseconds: nanoseconds) == text)
  }

  @Test(arguments: [
    (0, 0, "0"), (1.25, 1, "1.3"), (-0.04, 1, "0.0"), (-2.5, 0, "-3"), (1234.5678, 2, "1,234.57"),
    (0.007, 2, "0.01"),
    (1.005, 3, "1.005"), (Double.infinity, 1, "inf"), (1e300, 1, "1e+300"),
  ])
  func `a number has a fixed number of digits`(_ value: Double, digits: Int, text: String) {
    #expect(Quantity.fixed(value, digits: digits) == text)
  }

  @Test func `a report is aligned`() {
    var report = ReportTable("replay")
    report.add("records", count: 1_234_567)
    report.add("read", bytes: 45_600_000)
    report.add("time", nanoseconds: 2_000_000_000)
    report.add("rate", count: 1_234_567, perNanoseconds: 2_000_000_000)
    report.add("no time", count: 1, perNanoseconds: 0)
    report.add("newest", text: "feeds.items/3")
    #expect(
      report.text == """
        replay
          records      1,234,567
          read           45.6 MB
          time            2.00 s
          rate         617,284/s
          no time              -
          newest   feeds.items/3

        """
    )
  }

  @Test func `a report needs neither title nor rows`() {
    #expect(ReportTable().text == "")
    #expect(ReportTable("nothing").text == "nothing\n")
  }
}
