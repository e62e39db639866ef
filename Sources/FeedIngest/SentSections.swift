import Feed

/// The sections whose settings this process has sent. It may forget them: sending them again has no effect.
package final class SentSections {
  private let capacity: Int
  private var sent: [BytesKey: OwnedSpan] = [:]
  private let key = ByteWriter(capacity: 1024)
  private var nextForget: Int64 = 0

  private static let forgetMilliseconds: Int64 = 60_000

  /// - Parameter capacity: the maximum number of sections, at some 100 bytes each.
  package init(capacity: Int = 65_536) { self.capacity = capacity }

  /// Records a section as sent.
  ///
  /// - Parameters:
  ///   - source: the number of the source, because each has its own settings.
  ///   - feed, section: at most 255 bytes each.
  /// - Returns: whether the section is new.
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

  /// Forgets all sections once a minute, because others may have deleted some.
  ///
  /// - Parameter now: milliseconds of a clock.
  package func forget(at now: Int64) {
    guard now >= nextForget else { return }
    nextForget = now + Self.forgetMilliseconds
    removeAll()
  }

  /// Forgets all sections, because the sent settings may not be written.
  package func removeAll() { sent = [:] }
}
