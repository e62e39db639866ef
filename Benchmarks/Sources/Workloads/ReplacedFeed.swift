/// A feed of one section that is repeatedly replaced with one that is nearly the same.
package struct ReplacedFeed {
  private let deletedCount: Int
  private let movedCount: Int
  private let insertedCount: Int
  /// The items by number, in the feed's order.
  private var order: [Int]
  private var freshNumber: Int
  /// The items of the previous version.
  private var known: Set<Int> = []
  private var random = RandomNumbers(seed: 1)

  /// - Parameters:
  ///   - itemCount: the number of items in the first version.
  ///   - deletedCount: the number of items that each further version deletes.
  package init(itemCount: Int, deletedCount: Int, movedCount: Int, insertedCount: Int) {
    self.deletedCount = deletedCount
    self.movedCount = movedCount
    self.insertedCount = insertedCount
    order = Array(0..<itemCount)
    freshNumber = itemCount
  }

  /// The next version, as the value of a `feed.replace`.
  ///
  /// - Parameter idsOnly: whether known items have neither kind nor data.
  package mutating func next(idsOnly: Bool) -> String {
    if !known.isEmpty { change() }
    let text = value(known: idsOnly ? known : [])
    known = Set(order)
    return text
  }

  /// Deletes, moves and inserts items at random positions.
  private mutating func change() {
    let picks = Array(order.indices).shuffled(using: &random).prefix(deletedCount + movedCount)
    let moved = picks.suffix(movedCount).map { order[$0] }
    let leaving = Set(picks)
    let staying = order.indices.filter { !leaving.contains($0) }.map { order[$0] }
    let fresh = freshNumber..<freshNumber + insertedCount
    freshNumber += insertedCount
    // Each moved or new element goes before a random remaining one, or to the end.
    let arriving = (moved + fresh).shuffled(using: &random).map { (random.below(staying.count + 1), $0) }
      .sorted { $0.0 < $1.0 }
    var result: [Int] = []
    var next = 0
    for (position, element) in staying.enumerated() {
      while next < arriving.count, arriving[next].0 == position {
        result.append(arriving[next].1)
        next += 1
      }
      result.append(element)
    }
    result.append(contentsOf: arriving[next...].map(\.1))
    order = result
  }

  private func value(known: Set<Int>) -> String {
    var text = #"{"op":"feed.replace","sections":[{"id":"\#(SampleData.section)","items":["#
    for (position, number) in order.enumerated() {
      if position > 0 { text += "," }
      if known.contains(number) {
        text += "\"\(SampleData.id(number))\""
      } else {
        text +=
          #"{"id":"\#(SampleData.id(number))","kind":"story","data":\#(SampleData.object(UInt64(number)))}"#
      }
    }
    return text + "]}]}"
  }
}
