/// Which elements of a sequence of distinct numbers can stay where they are, so that the fewest
/// must move: a longest increasing subsequence, by patience sorting with binary search
/// (Fredman, "On computing the length of longest increasing subsequences", 1975): O(n log n),
/// O(n) where the sequence is sorted already.
enum LongestIncreasingSubsequence {
  /// True at the positions of one longest increasing subsequence; the same one for the same input.
  static func membership(_ values: [Int32]) -> [Bool] {
    let count = values.count
    var isMember = [Bool](repeating: true, count: count)
    var sorted = 1
    while sorted < count, values[sorted - 1] < values[sorted] { sorted += 1 }
    if sorted >= count { return isMember }

    // tails[k]: position of the smallest last element of an increasing subsequence of k + 1 elements.
    var tails: [Int32] = []
    tails.reserveCapacity(count)
    var predecessor = [Int32](repeating: -1, count: count)
    values.withUnsafeBufferPointer { values in
      predecessor.withUnsafeMutableBufferPointer { predecessor in
        for position in 0..<count {
          let value = values[position]
          var low = tails.count
          if low == 0 || values[Int(tails[low - 1])] < value {
            // Longer by one: the common case of a list that is nearly in order.
          } else {
            low = 0
            var high = tails.count - 1
            while low < high {
              let middle = (low + high) / 2
              if values[Int(tails[middle])] < value { low = middle + 1 } else { high = middle }
            }
          }
          if low > 0 { predecessor[position] = tails[low - 1] }
          if low == tails.count { tails.append(Int32(position)) } else { tails[low] = Int32(position) }
        }
      }
    }
    isMember.withUnsafeMutableBufferPointer { $0.update(repeating: false) }
    var position = tails.last ?? -1
    while position >= 0 {
      isMember[Int(position)] = true
      position = predecessor[Int(position)]
    }
    return isMember
  }
}
