import Feed

/// The sections whose settings this process has sent. With too many it forgets them; to send them again changes nothing.
package final class SentSections {
  private let capacity: Int
  private var sent: [BytesKey: OwnedSpan] = [:]
  private let key = ByteWriter(capacity: 1024)
  private var nextForget: Int64 = 0

  private static let forgetMilliseconds: Int64 = 60_000

  /// - Parameter capacity: how many it remembers, at some 100 bytes each.
  package init(capacity: Int = 65_536) { self.capacity = capacity }

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
    if sent[BytesKey(key.written)] != nil { return false }
    if sent.count == capacity { removeAll() }
    let copy = OwnedSpan(key.written)
    sent[BytesKey(copy.span)] = copy
    return true
  }

  /// Forgets all once a minute, as others may have deleted sections since.
  ///
  /// - Parameter now: milliseconds of a clock.
  package func forget(at now: Int64) {
    guard now >= nextForget else { return }
    nextForget = now + Self.forgetMilliseconds
    removeAll()
  }

  /// Forgets all, as what was sent is not known to be written.
  package func removeAll() { sent = [:] }
}
