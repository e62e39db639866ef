import Testing

@testable import FeedTools

struct PacerTests {
  @Test func `records are due by their distance from the first`() {
    var pacer = Pacer(speed: 1)
    #expect(pacer.wait(for: 1_000, now: 50) == 0)
    #expect(pacer.wait(for: 1_500, now: 50) == 500)
    #expect(pacer.wait(for: 1_500, now: 300) == 250)
    #expect(pacer.wait(for: 1_500, now: 550) == 0)
    #expect(pacer.wait(for: 1_500, now: 9_000) == 0)
  }

  @Test func `a speed divides the distances`() {
    var fast = Pacer(speed: 10)
    #expect(fast.wait(for: 0, now: 0) == 0)
    #expect(fast.wait(for: 5_000, now: 100) == 400)
    var slow = Pacer(speed: 0.5)
    #expect(slow.wait(for: 0, now: 0) == 0)
    #expect(slow.wait(for: 5_000, now: 0) == 10_000)
  }

  @Test func `timestamps before the first are due at once`() {
    var pacer = Pacer(speed: 1)
    #expect(pacer.wait(for: 1_000, now: 0) == 0)
    #expect(pacer.wait(for: 10, now: 0) == 0)
    #expect(pacer.wait(for: .min, now: 0) == 0)
  }

  @Test func `huge distances do not overflow`() {
    var pacer = Pacer(speed: 0.001)
    #expect(pacer.wait(for: .min, now: 0) == 0)
    #expect(pacer.wait(for: .max, now: 0) > 0)
  }
}
