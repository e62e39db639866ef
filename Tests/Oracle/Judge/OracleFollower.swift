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

    public var checksum: String { OracleChecksum.text(state.map(OracleChecksum.of) ?? 0) }
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
    let feed = OracleFeedKey(partition: keeps(.replicasByPartition) ? partition : 0, id: id)
    var replica = replicas[feed] ?? Replica()
    let before = replica.state
    var isRefused = false
    if let value {
      if let json = Self.changeset(value, under: (kind, number, id)) {
        replica = Self.take(json, replica, &isRefused)
      } else {
        isRefused = true
        replica.isStale = replica.isStale || keeps(.malformedIsStale)
        if keeps(.malformedDropsParts) { replica.parts = [] }
      }
    } else if kind == "k" && number == 0 && keeps(.nullOfReload)
      || kind == "k" && number > 0 && !keeps(.nullOfOtherPart)
      || kind == "d" && (before == nil && keeps(.nullWithoutState) || before != nil && !keeps(.nullOfDelta))
    {
      replica = Replica()
    }
    let isKnown = replica.state != nil || replica.isStale || replica.isWaiting
    replicas[feed] = isKnown ? replica : nil
    let isChanged = replica.state != before
    return Outcome(feed: feed, isRefused: isRefused, isChanged: isChanged)
  }

  // MARK: - The table

  private static func take(_ json: OracleJSON, _ replica: Replica, _ isRefused: inout Bool) -> Replica {
    let epoch = json.last("epoch")?.string ?? []
    let revision = number(json, "revision") ?? 0
    let mode = text(json, "mode")
    var stale = replica
    stale.isStale = true
    if keeps(.staleDropsParts) { stale.parts = [] }
    let isSame = replica.state != nil && replica.epoch == epoch
    if mode == "delete" {
      if replica.state == nil { return keeps(.deletionWithoutState) ? Replica() : stale }
      if isSame { return keeps(.deletionRemoves) ? Replica() : replica }
      return keeps(.deletionOfOtherEpoch) ? stale : replica
    }
    if mode == "reload" {
      if isSame, revision < replica.revision {
        if keeps(replica.isStale ? .olderReloadIfStale : .olderReload) { return replica }
      } else if isSame, revision == replica.revision, !replica.isStale {
        if text(json, "checksum") != replica.checksum {
          return keeps(.reloadOfWrongReplica) ? takePart(json, stale, stale, &isRefused) : replica
        }
        if keeps(.keyframeInStep) { return replica }
      } else if isSame, revision == replica.revision, !keeps(.reloadOfStale) {
        return replica
      } else if replica.state != nil, !isSame, !keeps(.reloadOfOtherEpoch) {
        return stale
      }
    } else {
      if replica.state == nil, keeps(.deltaWithoutState) { return stale }
      if replica.state != nil, !isSame, keeps(.deltaOfOtherEpoch) { return stale }
      if isSame, revision <= replica.revision, keeps(.olderDelta) { return replica }
      if replica.isStale, keeps(.deltaIfStale) { return stale }
      if number(json, "base") != replica.revision, keeps(.deltaOfOtherBase) { return stale }
    }
    return takePart(json, replica, stale, &isRefused)
  }

  private static func takePart(
    _ json: OracleJSON,
    _ replica: Replica,
    _ stale: Replica,
    _ isRefused: inout Bool
  ) -> Replica {
    var next = replica
    let part = number(json, "part") ?? 0
    let isWhole = number(json, "parts") ?? 1 == 1
    if part == 0, keeps(isWhole ? .wholeDropsParts : .firstPartDropsParts) { next.parts = [] }
    let fields: [(String, Rule)] = [
      ("epoch", .partsOfOneEpoch), ("revision", .partsOfOneRevision), ("mode", .partsOfOneMode),
      ("reason", .partsOfOneReason), ("parts", .partsOfOneNumber), ("checksum", .partsOfOneChecksum),
    ]
    let continues = next.parts.first.map { first in
      fields.allSatisfy { name, rule in
        first.last(name)?.minified == json.last(name)?.minified || !keeps(rule)
      }
    }
    guard part == next.parts.count || !keeps(.nextPart), continues ?? true else {
      if keeps(.strangePartIsStale) { return stale }
      next.parts = []
      return next
    }
    next.parts.append(json)
    guard next.parts.count >= number(json, "parts") ?? 1 || !keeps(.allParts) else { return next }
    // What lacks a field of an entry is no changeset, either; that is seen when it is applied.
    isRefused = !next.parts.allSatisfy(isFormed)
    guard !isRefused, let state = try? NaiveReplica.apply(next.parts, to: next.state) else { return stale }
    let isReload = text(json, "mode") == "reload"
    guard state.hasUniqueIDs || !keeps(isReload ? .reloadIDsUnique : .insertedIDsNew),
      continuesRightly(next.parts) || !keeps(.sectionHasData),
      OracleChecksum.text(OracleChecksum.of(state)) == text(json, "checksum")
        || !keeps(isReload ? .reloadChecksum : .deltaChecksum)
    else {
      if keeps(.faultKeepsState) { return stale }
      var wrong = stale
      wrong.state = state
      return wrong
    }
    return Replica(
      state: state,
      epoch: json.last("epoch")?.string ?? [],
      revision: number(json, "revision") ?? 0
    )
  }

  // MARK: - Form

  /// The letter, number and feed in a key.
  public static func parse(_ key: [UInt8]) -> (kind: String, number: Int, feed: [UInt8])? {
    let slash = keeps(.keyFirstSlash) ? key.firstIndex(of: 0x2F) : key.lastIndex(of: 0x2F)
    guard let slash, slash >= 2, slash + 1 < key.count || !keeps(.keyWithFeed) else { return nil }
    let kind = String(decoding: key[..<1], as: UTF8.self)
    let digits = String(decoding: key[1..<slash], as: UTF8.self)
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(digits),
      number <= 1_000_000 || !keeps(.keyNumberBounded), String(number) == digits || !keeps(.keyWithoutZeros),
      kind == "k" || kind == "d" || !keeps(.keyLetters),
      kind != "d" || number > 0 || !keeps(.keyOfDeltaFromOne)
    else { return nil }
    return (kind, number, Array(key[(slash + 1)...]))
  }

  /// The value, if it is a changeset that belongs under that key.
  private static func changeset(
    _ value: [UInt8],
    under key: (kind: String, number: Int, feed: [UInt8])
  ) -> OracleJSON? {
    let readable = keeps(.changesetIsUTF8) ? value : Array(String(decoding: value, as: UTF8.self).utf8)
    guard let json = try? OracleJSON.parse(readable), case .object = json.content else { return nil }
    let isText = { (value: OracleJSON) in value.string != nil }
    let isNumber = { (value: OracleJSON) in number(value) != nil }
    let isObject = { (value: OracleJSON) in if case .object = value.content { true } else { false } }
    let fields: [(name: String, needed: Rule, typed: Rule, hasType: (OracleJSON) -> Bool)] = [
      ("feed", .needsFeed, .feedIsText, isText), ("epoch", .needsEpoch, .epochIsText, isText),
      ("revision", .needsRevision, .revisionIsNumber, isNumber),
      ("base", .needsBase, .baseIsNumber, isNumber),
      ("mode", .needsMode, .modeIsText, isText), ("time", .needsTime, .timeIsText, isText),
      ("through", .needsThrough, .throughIsObject, isObject),
      ("checksum", .needsChecksum, .checksumIsText, isText),
    ]
    for field in fields {
      guard let value = json.last(field.name) else {
        if keeps(field.needed) { return nil } else { continue }
      }
      if !field.hasType(value), keeps(field.typed) { return nil }
    }
    if !text(json, "epoch").contains(":"), !keeps(.epochOfAnyForm) { return nil }
    let (part, parts) = (number(json, "part") ?? 0, number(json, "parts") ?? 1)
    guard json.last("feed")?.string ?? key.feed == key.feed || !keeps(.feedIsThatOfKey),
      ["part", "parts"].allSatisfy({ json.last($0) == nil || number(json, $0) != nil })
        || !keeps(.partsAreNumbers),
      json.last("reason").map(isText) ?? true || !keeps(.reasonIsText),
      part < parts || !keeps(.partBelowParts), parts <= 1_000_001
    else { return nil }
    if case .object(let offsets)? = json.last("through")?.content {
      guard offsets.allSatisfy({ isNumber($0.value) }) || !keeps(.throughOfNumbers) else { return nil }
      guard offsets.count <= 200,
        offsets.allSatisfy({ Self.isTopic(String(decoding: $0.name, as: UTF8.self)) })
      else {
        return nil
      }
    }
    if let checksum = json.last("checksum")?.string {
      let isHexadecimal = checksum.count == 8 && checksum.allSatisfy { "0123456789abcdef".utf8.contains($0) }
      guard isHexadecimal || !keeps(.checksumIsHexadecimal) else { return nil }
    }
    switch text(json, "mode") {
    case "reload": return key.kind == "k" && key.number == part || !keeps(.keyOfReload) ? json : nil
    case "diff", "reconfigure", "delete": return key.kind == "d" || !keeps(.keyOfDelta) ? json : nil
    case "" where !keeps(json.last("mode") == nil ? .needsMode : .modeIsText): return json
    default: return keeps(.modeKnown) ? nil : json
    }
  }

  private static func isTopic(_ name: String) -> Bool {
    name != "." && name != ".." && name.wholeMatch(of: /[A-Za-z0-9._\-]{1,249}/) != nil
  }

  /// Whether every entry of a record has the fields that are needed from it, of the right types.
  private static func isFormed(_ json: OracleJSON) -> Bool {
    if text(json, "mode") == "reload" {
      return list(json, "sections") { section in
        isID(section, "id") && hasOrder(section)
          && list(section, "items") {
            isID($0, "id") && (isKind($0) && $0.last("data") != nil || !keeps(.reloadedItemIsWhole))
          }
      }
    }
    func isPlace(_ entry: OracleJSON?, _ group: String) -> Bool {
      guard let entry else { return false }
      return (number(entry, "index") != nil || !keeps(.entryHasIndex))
        && (group == "sections" || entry.last("section")?.string != nil)
    }
    return ["sections", "items"].allSatisfy { group in
      guard let lists = json.last(group) else { return true }
      guard case .object = lists.content else { return false }
      let isOfItems = group == "items"
      func isMoved(_ entry: OracleJSON, _ name: String) -> Bool {
        isOfItems ? isPlace(entry.last(name), group) : number(entry, name) != nil
      }
      return list(lists, "delete") { isID($0, "id") && isPlace($0, group) }
        && list(lists, "move") { isID($0, "id") && isMoved($0, "from") && isMoved($0, "to") }
        && ["insert", "reconfigure", "reload"].allSatisfy { name in
          list(lists, name) { entry in
            let hasKind = !isOfItems || name == "reconfigure" || isKind(entry)
            return isID(entry, "id") && isPlace(entry, group) && (hasKind || !keeps(.entryHasKind))
              && (entry.last("data") != nil || !keeps(.entryHasData)) && (isOfItems || hasOrder(entry))
          }
        }
    }
  }

  /// Whether the order and bound of a section are well-formed, if it has them.
  private static func hasOrder(_ section: OracleJSON) -> Bool {
    (section.last("order").map { OracleSectionOrder($0) != nil } ?? true)
      && (section.last("keep").map { OracleKeep.number($0) != nil } ?? true)
  }

  private static func list(_ json: OracleJSON, _ name: String, _ isFormed: (OracleJSON) -> Bool) -> Bool {
    guard let list = json.last(name) else { return true }
    guard let elements = list.elements else { return false }
    return elements.allSatisfy {
      if case .object = $0.content { isFormed($0) } else { false }
    }
  }

  private static func isID(_ json: OracleJSON, _ name: String) -> Bool {
    (1...255).contains(json.last(name)?.string?.count ?? 0)
  }

  private static func isKind(_ json: OracleJSON) -> Bool { (json.last("kind")?.string?.count ?? 256) <= 255 }

  /// Whether each section of a reload without data continues the one before it.
  private static func continuesRightly(_ parts: [OracleJSON]) -> Bool {
    guard text(parts[0], "mode") == "reload" else { return true }
    var previous: [UInt8]?
    for section in parts.flatMap({ $0.last("sections")?.elements ?? [] }) {
      let id = section.last("id")?.string
      if section.last("data") == nil, id != previous { return false }
      previous = id
    }
    return true
  }

  private static func number(_ json: OracleJSON) -> Int? {
    guard json.content == .number, json.minified.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(String(decoding: json.minified, as: UTF8.self)), number < 1 << 53
    else { return nil }
    return number
  }

  private static func number(_ json: OracleJSON, _ name: String) -> Int? {
    json.last(name).flatMap { number($0) }
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
