/// Follows the changesets topic by the table in the protocol, section 11: plain, slow, and independent of `Replica`.
public struct OracleFollower {
  /// A follower's state of one feed.
  public struct Replica: Sendable {
    public var state: OracleFeed?
    public var epoch: [UInt8] = []
    public var revision = 0
    public var isStale = false
    /// The parts of an incomplete changeset.
    var parts: [OracleJSON] = []
    public var isWaiting: Bool { !parts.isEmpty }

    var checksum: String { OracleChecksum.text(state.map(OracleChecksum.of) ?? 0) }
  }

  /// The effect of a record.
  public struct Outcome: Sendable {
    /// nil if the key names no feed.
    public let feed: OracleFeedKey?
    /// Whether the record is invalid.
    public let isRefused: Bool
    /// Whether the state has changed.
    public let isChanged: Bool
  }

  public private(set) var replicas: [OracleFeedKey: Replica] = [:]

  public init() {}

  /// Applies a record; a nil value is a Kafka null.
  public mutating func take(partition: Int, key: [UInt8]?, value: [UInt8]?) -> Outcome {
    guard let key, let (kind, number, id) = Self.parse(key) else {
      return Outcome(feed: nil, isRefused: true, isChanged: false)
    }
    let feed = OracleFeedKey(partition: partition, id: id)
    var replica = replicas[feed] ?? Replica()
    let before = replica.state
    var isRefused = false
    if let value {
      if let json = Self.changeset(value, of: id) {
        replica = Self.take(json, replica)
      } else {
        isRefused = true
        replica.isStale = true
        replica.parts = []
      }
    } else if kind == "k" && number == 0 || kind == "d" && before == nil {
      replica = Replica()
    }
    let isKnown = replica.state != nil || replica.isStale || replica.isWaiting
    replicas[feed] = isKnown ? replica : nil
    let isChanged = replica.state != before
    return Outcome(feed: feed, isRefused: isRefused, isChanged: isChanged)
  }

  // MARK: - The table

  private static func take(_ json: OracleJSON, _ replica: Replica) -> Replica {
    let epoch = json.last("epoch")?.string ?? []
    let revision = number(json, "revision") ?? 0
    let mode = text(json, "mode")
    var stale = replica
    stale.isStale = true
    stale.parts = []
    let isSame = replica.state != nil && replica.epoch == epoch
    if mode == "delete" { return replica.state == nil || isSame ? Replica() : stale }
    if mode == "reload" {
      if isSame, revision < replica.revision { return replica }
      if isSame, revision == replica.revision, !replica.isStale {
        if text(json, "checksum") == replica.checksum { return replica }
        return takePart(json, stale, stale)
      }
    } else {
      guard replica.state != nil, isSame else { return stale }
      if revision <= replica.revision { return replica }
      if replica.isStale || number(json, "base") != replica.revision { return stale }
    }
    return takePart(json, replica, stale)
  }

  private static func takePart(_ json: OracleJSON, _ replica: Replica, _ stale: Replica) -> Replica {
    var next = replica
    let part = number(json, "part") ?? 0
    if part == 0 { next.parts = [] }
    let names = ["epoch", "revision", "mode", "reason", "parts"]
    let continues = next.parts.first.map { first in
      names.allSatisfy { first.last($0)?.minified == json.last($0)?.minified }
    }
    guard part == next.parts.count, continues ?? true else { return stale }
    next.parts.append(json)
    guard next.parts.count == number(json, "parts") ?? 1 else { return next }
    guard let state = try? NaiveReplica.apply(next.parts, to: next.state), state.hasUniqueIDs,
      OracleChecksum.text(OracleChecksum.of(state)) == text(json, "checksum")
    else { return stale }
    return Replica(
      state: state,
      epoch: json.last("epoch")?.string ?? [],
      revision: number(json, "revision") ?? 0
    )
  }

  // MARK: - Form

  /// The letter, number and feed in a key.
  public static func parse(_ key: [UInt8]) -> (kind: String, number: Int, feed: [UInt8])? {
    guard let slash = key.firstIndex(of: UInt8(ascii: "/")), slash >= 2, slash + 1 < key.count else {
      return nil
    }
    let kind = String(decoding: key[..<1], as: UTF8.self)
    let digits = String(decoding: key[1..<slash], as: UTF8.self)
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
      number <= 1_000_000,
      String(number) == digits, kind == "k" || kind == "d" && number > 0
    else { return nil }
    return (kind, number, Array(key[(slash + 1)...]))
  }

  /// The value, if it is a changeset of that feed.
  private static func changeset(_ value: [UInt8], of feed: [UInt8]) -> OracleJSON? {
    guard let json = try? OracleJSON.parse(value), case .object = json.content else { return nil }
    let strings = ["feed", "epoch", "mode", "time", "checksum"]
    guard strings.allSatisfy({ json.last($0)?.string?.isEmpty == false }), json.last("feed")?.string == feed,
      number(json, "revision") != nil, number(json, "base") != nil,
      case .object? = json.last("through")?.content,
      ["reconfigure", "diff", "reload", "delete"].contains(text(json, "mode")),
      json.last("part") == nil || number(json, "part") != nil,
      json.last("parts") == nil || number(json, "parts") != nil,
      number(json, "part") ?? 0 < number(json, "parts") ?? 1
    else { return nil }
    return hasContent(json) ? json : nil
  }

  /// Whether an entry that must have content has it.
  private static func hasContent(_ json: OracleJSON) -> Bool {
    if text(json, "mode") == "reload" { return true }
    let needs = [
      "sections": ["insert": ["data"], "reconfigure": ["data"], "reload": ["data"]],
      "items": ["insert": ["kind", "data"], "reconfigure": ["data"], "reload": ["kind", "data"]],
    ]
    return needs.allSatisfy { group, lists in
      lists.allSatisfy { list, fields in
        (json.last(group)?.last(list)?.elements ?? []).allSatisfy { entry in
          fields.allSatisfy { entry.last($0) != nil }
        }
      }
    }
  }

  private static func number(_ json: OracleJSON, _ name: String) -> Int? {
    guard let value = json.last(name), value.content == .number else { return nil }
    return Int(String(decoding: value.minified, as: UTF8.self)).flatMap { $0 >= 0 ? $0 : nil }
  }

  private static func text(_ json: OracleJSON, _ name: String) -> String {
    String(decoding: json.last(name)?.string ?? [], as: UTF8.self)
  }
}

extension OracleFeed {
  fileprivate var hasUniqueIDs: Bool {
    Set(sectionIDs).count == sections.count && Set(itemIDs).count == itemCount
  }
}
