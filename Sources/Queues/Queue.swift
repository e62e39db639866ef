/// A first-in, first-out queue.
package struct Queue<Element> {
  /// Elements before `head` have been taken.
  @usableFromInline var elements: [Element?] = []
  @usableFromInline var head = 0

  @inlinable package init() {}

  /// The elements, oldest first. O(n).
  @inlinable package var all: [Element] { elements[head...].compactMap(\.self) }

  @inlinable package var count: Int { elements.count - head }

  @inlinable package var isEmpty: Bool { count == 0 }

  @inlinable package var first: Element? { isEmpty ? nil : elements[head] }

  @inlinable package var last: Element? { isEmpty ? nil : elements[elements.count - 1] }

  @inlinable package mutating func append(_ element: Element) { elements.append(element) }

  @inlinable package mutating func removeFirst() -> Element? {
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
  @inlinable package mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
    let all = all
    let removed = all.filter(condition)
    guard !removed.isEmpty else { return [] }
    elements = all.filter { !condition($0) }
    head = 0
    return removed
  }
}

extension Queue: Sendable where Element: Sendable {}
