/// Chooses the partitions that a process follows in addition to its workers': as many as fit into a limit, in a fixed
/// order. A state machine without clients and without a clock.
///
/// Partitions are read a few at a time. If their state exceeds the limit, the last one in the order is given up as a whole. It
/// is tried again when there is room for the part that was read, at most once a minute, because its full size is unknown.
struct StandbyChoice: Sendable {
  enum State: Equatable, Sendable {
    /// It will be read from its beginning.
    case waiting
    /// It is read, but its end has not been reached.
    case reading
    case followed
    /// A worker of this process owns it.
    case owned
    /// It exceeds the limit.
    case tooLarge(bytes: Int, retryTime: Int64)
    /// It has a record that is malformed or does not apply.
    case damaged
  }

  /// The partitions by priority.
  let order: [Int32]
  private let maxBytes: Int
  private var states: [Int32: State] = [:]
  private var sizes: [Int32: Int] = [:]
  /// The state of the followed partitions, in bytes.
  private(set) var bytes = 0

  private static let readAtOnce = 4
  private static let retryMilliseconds: Int64 = 60_000

  /// - Parameters:
  ///   - count: the number of partitions.
  ///   - first: the first in the order, which ascends and then continues with the lowest.
  init(partitions count: Int32, from first: Int32 = 0, maxBytes: Int) {
    order = (0..<count).map { (first + $0) % count }
    self.maxBytes = maxBytes
    for number in order { states[number] = .waiting }
  }

  func state(of number: Int32) -> State? { states[number] }

  /// The partitions in a state, sorted.
  func numbers(where isMet: (State) -> Bool) -> [Int32] {
    states.filter { isMet($0.value) }.map(\.key).sorted()
  }

  // MARK: Decisions

  /// Starts reading partitions, and returns them.
  mutating func begin(at now: Int64) -> [Int32] {
    var count = states.values.count { $0 == .reading }
    var begun: [Int32] = []
    for number in order where count < Self.readAtOnce && mayBegin(number, at: now) {
      states[number] = .reading
      begun.append(number)
      count += 1
    }
    return begun
  }

  private func mayBegin(_ number: Int32, at now: Int64) -> Bool {
    switch states[number] {
    case .waiting?: bytes < maxBytes
    case .tooLarge(let size, let retryTime)?: now >= retryTime && bytes + size <= maxBytes
    case .reading?, .followed?, .owned?, .damaged?, nil: false
    }
  }

  /// Gives up the partitions that exceed the limit, and returns them.
  mutating func giveUpExcess(at now: Int64) -> [Int32] {
    var given: [Int32] = []
    while bytes > maxBytes, let last = order.last(where: { sizes[$0, default: 0] > 0 }) {
      let size = sizes[last, default: 0]
      change(last, to: .tooLarge(bytes: size, retryTime: now + Self.retryMilliseconds))
      given.append(last)
    }
    return given
  }

  // MARK: Changes

  /// The size of a partition that is read has changed.
  mutating func note(bytes size: Int, of number: Int32) {
    bytes += size - sizes[number, default: 0]
    sizes[number] = size
  }

  /// A partition was read to its end.
  mutating func reachEnd(_ number: Int32) {
    if states[number] == .reading { states[number] = .followed }
  }

  /// A worker owns the partition.
  mutating func own(_ number: Int32) { change(number, to: .owned) }

  /// A worker has returned the partition.
  ///
  /// - Parameter bytes: the size of the returned feeds; nil if none are returned.
  mutating func release(_ number: Int32, bytes size: Int?) {
    guard states[number] != nil else { return }
    change(number, to: size == nil ? .waiting : .reading)
    if let size { note(bytes: size, of: number) }
  }

  /// A partition has to be read from its beginning again.
  mutating func restart(_ number: Int32) { change(number, to: .waiting) }

  /// A partition has a record that is malformed or does not apply.
  mutating func damage(_ number: Int32) { change(number, to: .damaged) }

  private mutating func change(_ number: Int32, to state: State) {
    guard states[number] != nil else { return }
    states[number] = state
    note(bytes: 0, of: number)
  }
}
