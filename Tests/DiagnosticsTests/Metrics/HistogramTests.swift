import Testing

@testable import Diagnostics

@Suite struct HistogramTests {
  @Test func `a value counts in the first bucket whose bound is not less`() {
    var histogram = Histogram([1, 2])
    for value in [0, 1, 1.5, 2, 3] { histogram.observe(value) }
    #expect(histogram.counts == [2, 2, 1])
    #expect(histogram.count == 5)
    #expect(histogram.sum == 7.5)
  }

  @Test func `histograms can be added`() {
    var one = Histogram([1])
    one.observe(0.5, times: 3)
    var other = Histogram([1])
    other.observe(4)
    one.add(other)
    #expect(one.counts == [3, 1])
    #expect(one.sum == 5.5)
  }
}
