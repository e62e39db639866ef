import Feed

/// The keys that have to be nulled next: of the parts that a reload has no use for any more, or of a feed that
/// was deleted.
struct NullsDue {
  private var reloads: Range<Int>
  private var deltas: Range<Int>

  /// - Parameters:
  ///   - reloads: numbers of `k` keys.
  ///   - deltas: numbers of `d` keys, which come after them.
  init(reloads: Range<Int>, deltas: Range<Int> = 0..<0) {
    self.reloads = reloads
    self.deltas = deltas
  }

  var isEmpty: Bool { reloads.isEmpty && deltas.isEmpty }

  /// The next key without the feed's id, as in `d7/`.
  var next: String { reloads.first.map { "k\($0)/" } ?? "d\(deltas.first ?? 0)/" }

  /// Whether a key is the next; if so, another one is.
  mutating func take(_ key: RecordKey) -> Bool {
    switch key.kind {
    case .reload where key.number == reloads.first:
      reloads.removeFirst()
      return true
    case .delta where reloads.isEmpty && key.number == deltas.first:
      deltas.removeFirst()
      return true
    default: return false
    }
  }
}
