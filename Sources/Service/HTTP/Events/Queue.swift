/// A first-in, first-out queue.
package struct Queue<Element> {
  /// Elements before `head` have been taken.
  private var elements: [Element?] = []
  private var head = 0

  package init() {}

  /// The elements, oldest first. O(n).
  package var all: [Element] { elements[head...].compactMap(\.self) }

  package var count: Int { elements.count - head }

  package var isEmpty: Bool { count == 0 }

  package var first: Element? { isEmpty ? nil : elements[head] }

  package var last: Element? { isEmpty ? nil : elements[elements.count - 1] }

  package mutating func append(_ element: Element) { elements.append(element) }

  package mutating func removeFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[head].take()
    head += 1
    // Moving the rest costs no more than the removals since the last move.
    if head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Removes and returns all elements that satisfy the condition. O(n).
  package mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
    let all = all
    let removed = all.filter(condition)
    guard !removed.isEmpty else { return [] }
    elements = all.filter { !condition($0) }
    head = 0
    return removed
  }
}

extension Queue: Sendable where Element: Sendable {}
