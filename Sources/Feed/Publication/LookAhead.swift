import CXxhash

/// Has memory loaded that the next records need, while those before them are applied.
///
/// Between two of its updates an item is mostly in no cache, and records of a backlog come faster than memory answers. What a
/// record seems to be about is only guessed, from the first `"item":"` in it, so nothing may depend on it.
///
/// To be used while nothing else removes feeds.
public struct LookAhead {
  /// What is guessed of a record.
  private struct Guess {
    var table: Unmanaged<ElementTable>
    var hash: UInt32
    var handle: UInt32?
  }

  /// Of the next record, the one after it, and the one after that.
  private var first: Guess?
  private var second: Guess?
  private var third: Guess?

  /// How many records ahead of the one that is applied ``advance(to:key:value:)`` is told of.
  public static let distance = 3

  public init() {}

  /// Goes on by one record.
  ///
  /// - Parameters:
  ///   - directory: where the feed of the record is that comes so many records later; nil if there is none.
  ///   - key: the record's key.
  ///   - value: the record's value.
  public mutating func advance(to directory: FeedDirectory?, key: ByteSpan, value: ByteSpan) {
    first = second
    second = third
    third = directory.flatMap { LookAhead.guess($0, key, value) }
    if let first, let handle = first.handle {
      first.table._withUnsafeGuaranteedRef { $0.prefetchChange(handle) }
    }
    if let guess = second {
      second?.handle = guess.table._withUnsafeGuaranteedRef { $0.prefetchElement(guess.hash) }
    }
  }

  private static func guess(_ directory: FeedDirectory, _ key: ByteSpan, _ value: ByteSpan) -> Guess? {
    var count = 0
    let start = feedstore_item_text(value.base, value.count, &count)
    guard start >= 0, let items = directory.items(of: key) else { return nil }
    let hash = ByteHash.of(ByteSpan(value.base + start, count))
    items._withUnsafeGuaranteedRef { $0.prefetchSlot(hash) }
    return Guess(table: items, hash: hash)
  }
}
