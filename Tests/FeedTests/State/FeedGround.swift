@testable import Feed

/// A feed "f" to which tests apply records, and a decoder of them.
final class FeedGround {
  let feed = withSpan("f") { PublishedFeed(id: $0) }
  let decoder: RecordDecoder
  private var offset: Int64 = 0

  init(_ limits: Limits = Limits()) { decoder = RecordDecoder(limits: limits) }

  /// Applies a record.
  ///
  /// - Parameter decoded: called once it is decoded.
  /// - Returns: the message of the rejection, if any.
  func apply(_ value: [UInt8], usage: StateUsage = StateUsage(), decoded: () -> Void = {}) -> String? {
    withSpan("f") { key in
      withSpan(value) { value in
        do throws(Rejection) {
          offset += 1
          let position = RecordPosition(topic: [], offset: offset, timestamp: 0)
          let record = InputRecord(partition: 0, position: position, key: key, value: .bytes(value))
          try decoder.decode(record, for: feed)
          decoded()
          try feed.apply(decoder, at: position, usage: usage) { _ in }
          return nil
        } catch {
          return error.message
        }
      }
    }
  }

  func apply(_ value: String, usage: StateUsage = StateUsage()) -> String? {
    apply(Array(value.utf8), usage: usage)
  }
}
