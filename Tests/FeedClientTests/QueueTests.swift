import Testing

@testable import FeedClient

struct QueueTests {
  @Test func `elements leave in order, without those removed in between`() {
    var queue = Queue<Int>()
    for number in 0..<10 { queue.append(number) }
    #expect(queue.removeFirst() == 0)
    #expect(queue.removeAll { $0.isMultiple(of: 3) } == [3, 6, 9])
    queue.append(10)
    var rest: [Int] = []
    while let number = queue.removeFirst() { rest.append(number) }
    #expect(rest == [1, 2, 4, 5, 7, 8, 10])
    #expect(queue.isEmpty)
    #expect(queue.removeFirst() == nil)
  }
}
