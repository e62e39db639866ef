import Testing

@testable import FeedTransactions

struct ChangesetEndsTests {
  private static func end(_ ends: ChangesetEnds, _ partition: Int32 = 0) -> Int64? {
    ends.endIfCommitted(of: partition)
  }

  @Test func `records of the open transaction count, and markers of those before`() {
    var ends = ChangesetEnds()
    ends.note(10, of: 0)
    ends.note(4, of: 1)
    #expect(Self.end(ends) == 10)
    ends.add(to: 0)
    ends.add(to: 0)
    #expect(Self.end(ends) == 12)
    ends.commit()
    #expect(Self.end(ends) == 13)
    ends.add(to: 0)
    ends.commit()
    #expect(Self.end(ends) == 15)
    #expect(Self.end(ends, 1) == 4, "no marker where nothing was written")
  }

  @Test func `what may not be there does not count`() {
    var ends = ChangesetEnds()
    ends.note(10, of: 0)
    ends.add(to: 0)
    ends.discard()
    #expect(Self.end(ends) == 10)
    ends.commit()
    #expect(Self.end(ends) == 10)
  }

  @Test func `where others have written, the end is what the broker reports`() {
    var ends = ChangesetEnds()
    ends.note(10, of: 0)
    ends.add(to: 0)
    let changes = [11, 14, 13].map { ends.correct(0, to: $0) }
    #expect(changes == [false, true, false], "only a later end than is known changes it")
    #expect(Self.end(ends) == 14)
    ends.commit()
    ends.add(to: 0)
    #expect(Self.end(ends) == 16)
    ends.discard()
    let isChanged = ends.correct(0, to: 100)
    #expect(!isChanged, "the partition has no records of the open transaction")
    #expect(Self.end(ends) == 15)
  }

  @Test func `of a partition that was not measured nothing is said`() {
    var ends = ChangesetEnds()
    ends.add(to: 0)
    #expect(Self.end(ends) == nil)
    ends.commit()
    #expect(Self.end(ends) == nil)
  }
}
