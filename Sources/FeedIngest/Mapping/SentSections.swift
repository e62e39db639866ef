import Feed

/// The sections whose settings this process has sent. Of many the oldest are forgotten, and sent once more, which changes nothing.
package final class SentSections {
  private let generationCapacity: Int
  private var recent: [BytesKey: OwnedSpan] = [:]
  private var older: [BytesKey: OwnedSpan] = [:]
  private let key = ByteWriter(capacity: 1024)

  /// - Parameter capacity: how many it remembers, at some 100 bytes each.
  package init(capacity: Int = 65_536) { generationCapacity = max(1, capacity / 2) }

  /// Notes a section.
  ///
  /// - Parameters:
  ///   - source: the number of the source, as each has settings of its own.
  ///   - feed, section: at most 255 bytes each.
  /// - Returns: whether it was not known.
  func insert(source: Int, feed: ByteSpan, section: ByteSpan) -> Bool {
    key.removeAll()
    key.append(decimal: source)
    key.append(UInt8(ascii: "/"))
    key.append(UInt8(truncatingIfNeeded: feed.count))
    key.append(feed)
    key.append(section)
    let lookup = BytesKey(key.written)
    if recent[lookup] != nil { return false }
    let isKnown = older[lookup] != nil
    if recent.count == generationCapacity { (older, recent) = (recent, [:]) }
    let copy = OwnedSpan(key.written)
    recent[BytesKey(copy.span)] = copy
    return !isKnown
  }

  /// Forgets all, as what was sent is not known to be written.
  package func removeAll() { (recent, older) = ([:], [:]) }
}
