/// The comparison that a snapshot makes, but of plain numbers: it skips equal ends, finds the rest in a table, and
/// leaves a longest increasing subsequence in place. It has neither sections nor content.
struct PlainDifference {
  private(set) var deletes = 0
  private(set) var inserts = 0
  private(set) var moves = 0

  init(from old: [Int], to new: [Int]) {
    var first = 0
    while first < old.count, first < new.count, old[first] == new[first] { first += 1 }
    var (oldEnd, newEnd) = (old.count, new.count)
    while oldEnd > first, newEnd > first, old[oldEnd - 1] == new[newEnd - 1] {
      oldEnd -= 1
      newEnd -= 1
    }
    var indexes: [Int: Int] = [:]
    indexes.reserveCapacity(oldEnd - first)
    for index in first..<oldEnd { indexes[old[index]] = index }
    // The smallest last elements of increasing subsequences, by length.
    var ends: [Int] = []
    var matched = 0
    for index in first..<newEnd {
      guard let from = indexes[new[index]] else {
        inserts += 1
        continue
      }
      matched += 1
      if ends.last.map({ $0 < from }) ?? true {
        ends.append(from)
        continue
      }
      var (low, high) = (0, ends.count - 1)
      while low < high {
        let middle = (low + high) / 2
        if ends[middle] < from { low = middle + 1 } else { high = middle }
      }
      ends[low] = from
    }
    deletes = oldEnd - first - matched
    moves = matched - ends.count
  }
}
