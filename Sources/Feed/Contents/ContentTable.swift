internal import Synchronization

/// The contents that items refer to (protocol, section 2.16): one table for all stores of a process.
///
/// Ids are in their spelling in changesets, with quotes. A content has a number while it has a value or is used.
public final class ContentTable: Sendable {
  private let state = Mutex(State())

  fileprivate struct State {
    var numbers: [BytesKey: UInt32] = [:]
    var entries: [Entry] = []
    var unused: [UInt32] = []
    var bytes = 0
    /// The number of entries with a value.
    var valueCount = 0
    /// The newest record by partition.
    var seen: [Int32: Int64] = [:]
    /// The greatest timestamp of all records.
    var newest: Int64 = 0
    /// For each following store, the numbers of the contents that have changed since it took them.
    var changed: [Set<UInt32>] = []
  }

  fileprivate struct Entry {
    let id: OwnedSpan
    /// Nil if no content has this id.
    var value: OwnedSpan?
    /// The number of references to it.
    var useCount = 0
    /// The timestamp of its newest record, in milliseconds since 1970.
    var time: Int64 = 0
  }

  /// The value of a content before a change.
  public struct Change: Sendable {
    /// The content's number; nil if no item shows it or its value is the same as before.
    package let number: UInt32?
    fileprivate let id: [UInt8]
    fileprivate let value: [UInt8]?
    fileprivate let partition: Int32
    fileprivate let seen: Int64?
  }

  public init() {}

  /// The bytes of all ids and values.
  public var bytes: Int { state.withLock { $0.bytes } }

  /// The number of contents.
  package var valueCount: Int { state.withLock { $0.valueCount } }

  /// The number of ids with a content or a use.
  package var count: Int { state.withLock { $0.numbers.count } }

  // MARK: Values

  /// Sets a content to the value of a record; nil deletes it.
  ///
  /// - Parameter id: with quotes.
  package func set(
    _ id: ByteSpan,
    _ value: ByteSpan?,
    at position: RecordPosition,
    partition: Int32
  ) -> Change {
    state.withLock { state in
      let number = state.number(of: id)
      let entry = state.entries[Int(number)]
      let isSame =
        value.map { new in entry.value.map { $0.span.hasSameBytes(as: new) } ?? false }
        ?? (entry.value == nil)
      let isShown = !isSame && entry.useCount > 0
      let seen = state.seen[partition]
      state.entries[Int(number)].time = position.time
      if isShown { for store in state.changed.indices { state.changed[store].insert(number) } }
      state.set(number, value.map { OwnedSpan($0) })
      state.seen[partition] = max(seen ?? -1, position.offset)
      state.newest = max(state.newest, position.time)
      return Change(
        number: isShown ? number : nil,
        id: Array(id.buffer),
        value: entry.value.map { Array($0.span.buffer) },
        partition: partition,
        seen: seen
      )
    }
  }

  /// Applies a record of the contents topic. An invalid one deletes the content: readers of the compacted topic find no
  /// other value.
  package func apply(
    _ record: InputRecord,
    with decoder: RecordDecoder
  ) -> (change: Change?, rejection: Rejection?) {
    // First: checking the key discards the memory of a decoded value.
    let id = decoder.contentID(of: record)
    var (value, rejection): (ByteSpan?, Rejection?)
    do throws(Rejection) { value = try decoder.decodeContent(record) } catch { rejection = error }
    guard let id else { return (nil, rejection) }
    return (set(id, value, at: record.position, partition: record.partition), rejection)
  }

  /// Undoes changes, the latest first.
  package func undo(_ changes: [Change]) {
    state.withLock { state in
      for change in changes.reversed() {
        let number = change.id.withUnsafeBytes { state.number(of: ByteSpan($0)) }
        let value = change.value.map { bytes in bytes.withUnsafeBytes { OwnedSpan(ByteSpan($0)) } }
        state.set(number, value)
        state.seen[change.partition] = change.seen
      }
    }
  }

  /// Appends a content's value, or `null`.
  ///
  /// - Parameter id: with quotes.
  func appendValue(_ id: ByteSpan, to output: ByteWriter) {
    let value = state.withLock { state in
      state.numbers[BytesKey(id)].flatMap { state.entries[Int($0)].value }
    }
    output.append(value?.span ?? FeedState.null)
  }

  /// The timestamp of a content's newest record, in milliseconds since 1970.
  package func time(of number: UInt32) -> Int64 { state.withLock { $0.entries[Int(number)].time } }

  /// The greatest timestamp of all records, in milliseconds since 1970.
  package var newest: Int64 { state.withLock { $0.newest } }

  /// For each partition of the contents topic, the newest record in the table.
  package var seen: [Int32: Int64] { state.withLock { $0.seen } }

  /// The same as JSON; empty if there is none.
  package var seenText: [UInt8] {
    let seen = seen.sorted { $0.key < $1.key }
    if seen.isEmpty { return [] }
    return Array("{\(seen.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}".utf8)
  }

  // MARK: Stores

  /// Begins to note changes for a store.
  ///
  /// - Returns: the number of the store.
  package func follow() -> Int {
    state.withLock { state in
      state.changed.append([])
      return state.changed.count - 1
    }
  }

  /// Whether contents have changed since a store took them.
  package func hasChanges(for store: Int) -> Bool { state.withLock { !$0.changed[store].isEmpty } }

  /// The numbers of the contents that have changed since a store took them. Some may be out of use.
  package func takeChanges(for store: Int) -> [UInt32] {
    let changes = state.withLock { state in
      defer { state.changed[store] = [] }
      return state.changed[store]
    }
    return changes.sorted()
  }

  // MARK: Uses

  /// Adds a use of a content.
  ///
  /// - Parameter id: with quotes.
  func use(_ id: ByteSpan) -> UInt32 {
    state.withLock { state in
      let number = state.number(of: id)
      state.entries[Int(number)].useCount += 1
      return number
    }
  }

  /// Ends uses of a content.
  func endUses(_ number: UInt32, _ count: Int = 1) {
    state.withLock { state in
      state.entries[Int(number)].useCount -= count
      state.removeIfVacant(number)
    }
  }
}

extension ContentTable.State {
  /// The number of an id, which may be new.
  fileprivate mutating func number(of id: ByteSpan) -> UInt32 {
    if let known = numbers[BytesKey(id)] { return known }
    let entry = ContentTable.Entry(id: OwnedSpan(id))
    let number = unused.popLast() ?? UInt32(entries.count)
    if number == entries.count { entries.append(entry) } else { entries[Int(number)] = entry }
    numbers[BytesKey(entry.id.span)] = number
    bytes += id.count
    return number
  }

  fileprivate mutating func set(_ number: UInt32, _ value: OwnedSpan?) {
    let old = entries[Int(number)].value
    bytes += (value?.span.count ?? 0) - (old?.span.count ?? 0)
    valueCount += (value == nil ? 0 : 1) - (old == nil ? 0 : 1)
    entries[Int(number)].value = value
    removeIfVacant(number)
  }

  fileprivate mutating func removeIfVacant(_ number: UInt32) {
    let entry = entries[Int(number)]
    guard entry.value == nil, entry.useCount == 0 else { return }
    numbers[BytesKey(entry.id.span)] = nil
    bytes -= entry.id.span.count
    unused.append(number)
  }
}
