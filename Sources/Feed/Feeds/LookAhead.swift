import CXxhash

/// Prefetches memory that the next records need while earlier ones are applied.
///
/// Between two updates, an item has usually left the caches, and records of a backlog arrive faster than memory
/// responds. The item of a record is only guessed, from the first `"item":"` in it, so nothing may depend on the guess.
///
/// Use it only while nothing else removes feeds.
public struct LookAhead {
  /// The guessed feed and item of a record.
  private struct Guess {
    let table: Unmanaged<ElementTable>
    let hash: UInt32
    var handle: ElementHandle?

    mutating func findElement() {
      let hash = hash
      handle = table._withUnsafeGuaranteedRef { $0.prefetchElement(hash) }
    }

    func prefetchChange() {
      guard let handle else { return }
      table._withUnsafeGuaranteedRef { $0.prefetchChange(handle) }
    }
  }

  /// The guesses for the next record and the two after it.
  private var first: Guess?
  private var second: Guess?
  private var third: Guess?

  /// How many records ahead of the one being applied ``advance(to:key:value:)`` is called for.
  public static let distance = 3

  public init() {}

  /// Advances by one record.
  ///
  /// - Parameters:
  ///   - directory: the directory of the feed of the record that is `distance` records ahead; nil if there is none.
  ///   - key: that record's key.
  ///   - value: that record's value.
  public mutating func advance(to directory: Unmanaged<FeedDirectory>?, key: ByteSpan, value: ByteSpan) {
    first = second
    second = third
    third = directory.flatMap { LookAhead.guess($0, key, value) }
    first?.prefetchChange()
    second?.findElement()
  }

  /// Prefetches a record's value, which was received on another thread.
  public static func prefetch(_ value: ByteSpan) { feedstore_prefetch_text(value.base, value.count) }

  private static func guess(
    _ directory: Unmanaged<FeedDirectory>,
    _ key: ByteSpan,
    _ value: ByteSpan
  ) -> Guess? {
    var count = 0
    let start = feedstore_item_text(value.base, value.count, &count)
    guard start >= 0, let items = directory._withUnsafeGuaranteedRef({ $0.items(of: key) }) else {
      return nil
    }
    let hash = ByteHash.of(ByteSpan(value.base + start, count))
    items._withUnsafeGuaranteedRef { $0.prefetchSlot(hash) }
    return Guess(table: items, hash: hash)
  }
}
