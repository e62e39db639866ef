import Diagnostics
import FeedTestSupport
import Testing

struct RepeatCounterTests {
  private var counter = RepeatCounter<String, Int>(intervalMilliseconds: 100, capacity: 3)

  /// Element and count of each occurrence.
  private func told(_ occurrences: [RepeatCounter<String, Int>.Occurrence]) -> [[Int]] {
    occurrences.map { [$0.element, $0.repeated] }
  }

  @Test mutating func `the first element is written at once, and repetitions are counted each interval`() {
    #expect(told(counter.add(1, key: "a", at: 0)) == [[1, 0]])
    #expect(counter.nextEnd == nil)
    #expect(told(counter.add(2, key: "a", at: 10)) == [])
    #expect(told(counter.add(3, key: "a", at: 99)) == [])
    #expect(counter.nextEnd == 100)
    #expect(told(counter.endIntervals(at: 99)) == [])
    #expect(told(counter.endIntervals(at: 100)) == [[3, 2]])
    #expect(told(counter.add(4, key: "a", at: 110)) == [])
    #expect(told(counter.endIntervals(at: 200)) == [[4, 1]])
  }

  @Test mutating func `an element not seen for an interval counts as first again`() {
    _ = counter.add(1, key: "a", at: 0)
    _ = counter.add(2, key: "a", at: 1)
    #expect(told(counter.endIntervals(at: 100)) == [[2, 1]])
    #expect(counter.nextEnd == nil)
    #expect(told(counter.endIntervals(at: 200)) == [])
    #expect(told(counter.add(3, key: "a", at: 201)) == [[3, 0]])
    // Also if no interval was ended in between.
    #expect(told(counter.add(4, key: "a", at: 301)) == [[4, 0]])
    #expect(told(counter.add(5, key: "a", at: 302)) == [])
  }

  @Test mutating func `an expired interval that was not ended is reported with the next element`() {
    _ = counter.add(1, key: "a", at: 0)
    _ = counter.add(2, key: "a", at: 50)
    #expect(told(counter.add(3, key: "a", at: 500)) == [[3, 2]])
    #expect(told(counter.add(4, key: "a", at: 550)) == [])
    #expect(counter.nextEnd == 600)
  }

  @Test mutating func `different elements are written, and their counts follow in the order of their start`()
  {
    #expect(told(counter.add(1, key: "b", at: 0)) == [[1, 0]])
    #expect(told(counter.add(2, key: "a", at: 0)) == [[2, 0]])
    for key in ["a", "b"] { _ = counter.add(3, key: key, at: 1) }
    #expect(told(counter.add(4, key: "b", at: 2)) == [])
    #expect(told(counter.endIntervals(at: 100)) == [[4, 2], [3, 1]])
  }

  @Test mutating func `the end reports all counts, once`() {
    _ = counter.add(1, key: "a", at: 0)
    _ = counter.add(2, key: "a", at: 1)
    #expect(told(counter.finish()) == [[2, 1]])
    #expect(told(counter.finish()) == [])
    #expect(told(counter.add(3, key: "a", at: 2)) == [[3, 0]])
  }

  @Test mutating func `when the capacity is reached, the oldest count is reported`() {
    for (number, key) in ["a", "b", "c"].enumerated() {
      _ = counter.add(number, key: key, at: Int64(number))
      _ = counter.add(number + 10, key: key, at: Int64(number))
    }
    #expect(told(counter.add(3, key: "d", at: 5)) == [[10, 1], [3, 0]])
    #expect(told(counter.add(13, key: "d", at: 5)) == [])
    #expect(told(counter.add(4, key: "a", at: 6)) == [[11, 1], [4, 0]])
    // Expired intervals end, too.
    #expect(told(counter.add(5, key: "e", at: 105)) == [[12, 1], [13, 1], [5, 0]])
  }

  @Test func `nothing is lost in any sequence`() {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed)
    for _ in 0..<200 {
      var counter = RepeatCounter<Int, Int>(intervalMilliseconds: 50, capacity: 4)
      var (added, written, now) = ([Int: Int](), [Int: Int](), Int64(0))
      func write(_ occurrences: [RepeatCounter<Int, Int>.Occurrence]) {
        for occurrence in occurrences {
          written[occurrence.element, default: 0] += max(1, occurrence.repeated)
        }
      }
      for _ in 0..<200 {
        now += Int64(random.next(30))
        let key = random.next(6)
        added[key, default: 0] += 1
        write(counter.add(key, key: key, at: now))
        if random.next(4) == 0 { write(counter.endIntervals(at: now)) }
      }
      write(counter.finish())
      #expect(added == written, "seed \(seed)")
    }
  }
}
