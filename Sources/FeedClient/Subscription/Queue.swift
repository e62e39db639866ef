/// First in, first out.
package struct Queue<Element> {
  /// Those before `head` have been taken.
  private var elements: [Element?] = []
  private var head = 0

  package init() {}

  /// What is in it, the first first. O(n).
  package var all: [Element] { elements[head...].compactMap(\.self) }

  package var count: Int { elements.count - head }

  package var isEmpty: Bool { count == 0 }

  package var first: Element? { isEmpty ? nil : elements[head] }

  package mutating func append(_ element: Element) { elements.append(element) }

  package mutating func removeFirst() -> Element? {
    guard !isEmpty else { return nil }
    let element = elements[head].take()
    head += 1
    // Moving what is left costs no more than what was taken since the last time.
    if head * 2 >= elements.count {
      elements.removeFirst(head)
      head = 0
    }
    return element
  }

  /// Takes out all for which the condition holds. O(n).
  package mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
    let all = all
    let removed = all.filter(condition)
    guard !removed.isEmpty else { return [] }
    elements = all.filter { !condition($0) }
    head = 0
    return removed
  }
}
