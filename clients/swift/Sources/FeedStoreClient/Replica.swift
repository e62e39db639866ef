/// Why a record cannot be applied.
public struct ReplicaFault: Error, Sendable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// The key is not one of a changesets topic.
    case invalidKey = "invalid-key"
    /// The value is not a changeset, or is another feed's.
    case invalidChangeset = "invalid-changeset"
    /// An entry names an element that does not exist, or inserts one that does.
    case unknownElement = "unknown-element"
    /// An element is not, or cannot be placed, at the changeset's position.
    case position
    /// The resulting order or kinds differ from the changeset's checksum.
    case checksum
  }

  public let code: Code
  /// What was found and what was expected.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { "\(code.rawValue): \(message)" }
}

/// The result of a changeset for a replica.
public enum ReplicaOutcome: Sendable {
  /// The replica has the changeset's revision now.
  case applied(FeedChange)
  /// The feed was deleted.
  case removed
  /// The replica has that revision, or the record does not concern it.
  case skipped
  /// Further parts of the changeset are needed.
  case waiting
  /// An earlier changeset was missed.
  case gap
  /// It belongs to another epoch of the feed, whose reload was missed.
  case otherEpoch
  /// It does not fit the replica, which keeps its state.
  case mismatch(ReplicaFault)
}

/// A copy of one feed, from its changesets. It checks the positions, revisions and order in each, and applies either all of it or
/// nothing. A value: a copy stays as it is.
public struct Replica: Sendable {
  /// The content. Its standing says nothing about this replica: see `isStale`.
  public private(set) var view: FeedView
  /// Whether changes were missed, so that only a reload is applied; also without a state.
  public private(set) var isStale = false
  /// The parts of a changeset that have arrived so far.
  private var parts: [Changeset] = []

  public init(_ feed: FeedID) { view = FeedView(feed: feed, standing: .live) }

  /// Whether some parts of a changeset have arrived, and not all.
  public var isWaiting: Bool { !parts.isEmpty }

  /// Applies a changeset, or a part of one. Call it in the order of the topic or stream.
  ///
  /// - Throws: `ReplicaFault` if it is not a changeset, or is another feed's; the replica is stale then.
  public mutating func apply(_ text: String) throws -> ReplicaOutcome {
    do {
      let changeset = try Changeset(text)
      guard changeset.feed == view.feed else {
        throw ReplicaFault(.invalidChangeset, "expected feed \"\(view.feed)\", found \"\(changeset.feed)\"")
      }
      return take(changeset)
    } catch {
      becomeStale()
      throw error
    }
  }

  /// Notes that something was missed: no difference is applied until the next reload.
  public mutating func becomeStale() {
    isStale = true
    parts = []
  }

  /// Drops the state: the feed no longer exists, or whatever comes next must be taken.
  public mutating func remove() -> ReplicaOutcome {
    let outcome: ReplicaOutcome = view.exists ? .removed : .skipped
    view = FeedView(feed: view.feed, standing: .live)
    (isStale, parts) = (false, [])
    return outcome
  }

  /// Takes the next reload whatever its revision, and no difference before it. Elements that it has again stay the same objects.
  mutating func expectReload() {
    view.head = nil
    becomeStale()
  }

  mutating func setTotals(_ totals: [WindowTotal]) { view.state.setTotals(totals) }

  mutating func take(_ changeset: Changeset) -> ReplicaOutcome {
    let head = changeset.head
    guard let known = view.head else { return takeWithoutState(changeset) }
    let isOtherEpoch = head.epoch != known.epoch
    switch changeset.mode {
    case .delete:
      if !isOtherEpoch { return remove() }
      // The deletion of an unknown epoch, which implies that the current one ended before it.
      becomeStale()
      return .otherEpoch
    case .reload:
      if !isOtherEpoch, head.revision <= known.revision {
        let isInStep = !isStale && haveSameBytes(head.checksum, hexadecimal(view.state.checksum))
        if head.revision != known.revision || isInStep { return .skipped }
        // The same revision with another checksum: the current state is wrong.
        isStale = true
      }
    case .diff, .reconfigure:
      if !isOtherEpoch, head.revision <= known.revision { return .skipped }
      if isOtherEpoch || isStale || head.base != known.revision {
        becomeStale()
        return isOtherEpoch ? .otherEpoch : .gap
      }
    }
    return join(changeset)
  }

  private mutating func takeWithoutState(_ changeset: Changeset) -> ReplicaOutcome {
    switch changeset.mode {
    case .delete: return remove()
    case .reload: return join(changeset)
    case .diff, .reconfigure:
      becomeStale()
      return .gap
    }
  }

  /// Collects parts until the changeset is complete, and then applies it.
  private mutating func join(_ changeset: Changeset) -> ReplicaOutcome {
    if changeset.part == 0 { parts = [] }
    guard parts.count == changeset.part, parts.first?.isContinued(by: changeset) ?? true else {
      becomeStale()
      return .gap
    }
    parts.append(changeset)
    guard parts.count == changeset.parts else { return .waiting }
    let complete = parts
    parts = []
    do {
      let change = try changeset.mode == .reload ? reload(complete) : change(complete)
      view.head = changeset.head
      return .applied(change)
    } catch {
      isStale = true
      return .mismatch(error as? ReplicaFault ?? ReplicaFault(.invalidChangeset, "\(error)"))
    }
  }

  private mutating func reload(_ complete: [Changeset]) throws -> FeedChange {
    let head = complete[0].head
    let state = try FeedState(reload: complete, reusing: view.state)
    let found = hexadecimal(state.checksum)
    guard found == head.checksum else {
      throw ReplicaFault(
        .checksum,
        "the reload of revision \(head.revision) has \(found), expected \(head.checksum)"
      )
    }
    view.state = state
    isStale = false
    return FeedChange(head, .reload)
  }

  private mutating func change(_ complete: [Changeset]) throws -> FeedChange {
    var state = view.state
    let change = try state.apply(complete)
    view.state = state
    return change
  }
}

/// The feeds of one partition of the changesets topic, from its committed records (`isolation.level=read_committed`), in the order of
/// their offsets.
public struct ReplicaPartition: Sendable {
  /// Replicas with a state, and those that need one.
  public private(set) var replicas: [FeedID: Replica] = [:]

  public init() {}

  /// Applies a record.
  ///
  /// - Parameters:
  ///   - key: `k<part>/<feed>` or `d<n>/<feed>`.
  ///   - value: A changeset, or nil for a Kafka null.
  /// - Throws: `ReplicaFault` if the record is not valid on a changesets topic; the feed in its key, if there is one, is stale then.
  public mutating func apply(key: String, value: String?) throws -> ReplicaOutcome {
    let (isReload, number, feed) = try Self.parts(ofKey: key)
    var replica = replicas[feed] ?? Replica(feed)
    guard let value else {
      // A follower that missed the deletion sees only its nulls. Only a deletion makes deltas null, so a feed without a
      // state is not waited for any more.
      guard isReload ? number == 0 : !replica.view.exists else { return .skipped }
      replicas[feed] = nil
      return replica.remove()
    }
    let changeset: Changeset
    do {
      changeset = try Changeset(value)
      guard changeset.feed == feed,
        changeset.mode == .reload ? isReload && number == changeset.part : !isReload
      else {
        throw ReplicaFault(.invalidChangeset, "the key \"\(key)\" is not that of its value")
      }
    } catch {
      replica.becomeStale()
      replicas[feed] = replica
      throw error
    }
    // A copy in the dictionary would make a change copy the whole state.
    replicas[feed] = nil
    let outcome = replica.take(changeset)
    if replica.view.exists || replica.isStale || replica.isWaiting { replicas[feed] = replica }
    return outcome
  }

  static func parts(ofKey key: String) throws -> (isReload: Bool, number: Int, feed: FeedID) {
    let pieces = key.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
    let digits = pieces[0].dropFirst()
    let isReload = pieces[0].first == UInt8(ascii: "k")
    guard pieces.count == 2, !pieces[1].isEmpty, isReload || pieces[0].first == UInt8(ascii: "d"),
      (1...7).contains(digits.count),
      digits.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(String(decoding: digits, as: UTF8.self)),
      number <= greatestKeyNumber, digits.first != 0x30 || (digits.count == 1 && isReload)
    else { throw ReplicaFault(.invalidKey, "the key \"\(key)\" is neither k<part>/<feed> nor d<n>/<feed>") }
    return (isReload, number, FeedID(String(decoding: pieces[1], as: UTF8.self)))
  }
}
