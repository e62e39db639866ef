import Testing

@testable import FeedWorker

@Suite struct BacklogTests {
  /// What each step leaves, in order.
  private func states(_ steps: [(inout Backlog) -> Void], maxRecords: Int = 1_000) -> [Bool] {
    var backlog = Backlog(maxRecords: maxRecords)
    return steps.map { step in
      step(&backlog)
      return backlog.isBehind
    }
  }

  @Test func `the input is behind from many unread records until hardly any are left`() {
    let states = states([
      { $0.poll(isEmpty: false, unread: 999) }, { $0.poll(isEmpty: false, unread: 1_000) },
      { $0.apply(unread: 1_000) }, { $0.poll(isEmpty: false, unread: 500) }, { $0.apply(unread: 100) },
      { $0.poll(isEmpty: false, unread: 99) }, { $0.apply(unread: 99) },
      { $0.poll(isEmpty: false, unread: 500) },
    ])
    #expect(states == [false, true, true, true, true, true, false, false])
  }

  @Test func `the input is not behind when nothing comes, whatever is unread`() {
    let states = states([
      { $0.poll(isEmpty: false, unread: 5_000) }, { $0.poll(isEmpty: true, unread: 5_000) },
      { $0.poll(isEmpty: true, unread: 5_000) }, { $0.poll(isEmpty: false, unread: 5_000) },
    ])
    #expect(states == [true, false, false, true])
  }

  @Test func `with a bound of one record a single unread record is a backlog`() {
    let states = states(
      [{ $0.poll(isEmpty: false, unread: 1) }, { $0.apply(unread: 1) }, { $0.apply(unread: 0) }],
      maxRecords: 1
    )
    #expect(states == [true, true, false])
  }
}
