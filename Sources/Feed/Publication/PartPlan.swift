/// Splits a document that is too large for one record: greedily, in order, into parts of at most
/// a given size.
enum PartPlan {
  /// The number of parts, given how many result when the count has so many digits.
  ///
  /// Each part names the number of parts, so that the count's digits take room that may in turn
  /// take another part: more digits are tried until they are enough.
  static func count(_ partsWithCountDigits: (Int) -> Int) -> Int {
    var digits = 1
    while true {
      let count = partsWithCountDigits(digits)
      if ChangesetHead.digits(count) <= digits { return count }
      digits += 1
    }
  }
}
