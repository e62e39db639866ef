import CRdkafka

/// The headers of a record to produce. It can be filled, used and cleared repeatedly without allocating.
///
/// ```swift
/// var headers = HeaderList()
/// headers.append("content-type", "application/json")
/// ```
public struct HeaderList {
  private(set) var bytes: [UInt8] = []
  private(set) var entries: [feedstore_header_t] = []

  public init() {}

  public var count: Int { entries.count }
  public var isEmpty: Bool { entries.isEmpty }
  /// The size of all names and values.
  public var byteCount: Int { bytes.count }

  /// Adds a header with bytes as its value; nil for a null.
  public mutating func append(_ name: StaticString, _ value: UnsafeRawBufferPointer?) {
    appendName(name)
    if let value {
      bytes.append(contentsOf: value)
      entries[entries.count - 1].value_size = value.count
    }
  }

  /// Adds a header with text as its value.
  public mutating func append(_ name: StaticString, _ value: some StringProtocol) {
    appendName(name)
    bytes.append(contentsOf: value.utf8)
    entries[entries.count - 1].value_size = bytes.count - entries[entries.count - 1].value_offset
  }

  /// Adds a copy of a header.
  public mutating func append(_ header: Header) {
    appendName(header.name.utf8)
    if let value = header.value {
      bytes.append(contentsOf: value)
      entries[entries.count - 1].value_size = value.count
    }
  }

  /// Clears the list and keeps its memory.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    entries.removeAll(keepingCapacity: true)
  }

  private mutating func appendName(_ name: StaticString) {
    appendName(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
  }

  /// Starts a header. Its value, null by default, follows in `bytes`.
  private mutating func appendName(_ name: some Collection<UInt8>) {
    let offset = bytes.count
    bytes.append(contentsOf: name)
    entries.append(
      feedstore_header_t(
        name_offset: offset,
        name_size: name.count,
        value_offset: bytes.count,
        value_size: -1
      )
    )
  }
}
