/// The position of a record on the rejected topic, written as `3/1042`.
public struct RejectedPlace: Sendable, Hashable, CustomStringConvertible {
  /// The partition's number, from 0.
  public let partition: Int32
  /// 0 or more.
  public let offset: Int64

  init(partition: Int32, offset: Int64) {
    self.partition = partition
    self.offset = offset
  }

  /// Parses the form of ``description``; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.first?.isNumber == true }),
      let partition = Int32(parts[0]), let offset = Int64(parts[1]), offset < .max
    else { return nil }
    self.init(partition: partition, offset: offset)
  }

  public var description: String { "\(partition)/\(offset)" }
}
