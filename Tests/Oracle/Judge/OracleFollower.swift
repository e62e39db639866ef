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
    /// nil if the key does not name a feed.
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
    } else {
      let row =
        kind == "d" ? "a null under a d key" : number == 0 ? "a null under k0" : "a null under another k key"
      replica = Self.act(row, before == nil ? "no state" : "a state", nil, replica, &isRefused)
    }
    let isKnown = replica.state != nil || replica.isStale || replica.isWaiting
    replicas[feed] = isKnown ? replica : nil
    let isChanged = replica.state != before
    return Outcome(feed: feed, isRefused: isRefused, isChanged: isChanged)
  }

  // MARK: - The table

  private static func take(_ json: OracleJSON, _ replica: Replica, _ isRefused: inout Bool) -> Replica {
    let isSame = replica.state != nil && replica.epoch == json.last("epoch")?.string ?? []
    let column = replica.state == nil ? "no state" : isSame ? "its epoch" : "another epoch"
    return act(row(of: json, replica, isSame: isSame), column, json, replica, &isRefused)
  }

  /// The row and column of a record in the table.
  private static func row(of json: OracleJSON, _ replica: Replica, isSame: Bool) -> String {
    let (revision, base) = (number(json, "revision"), number(json, "base"))
    switch text(json, "mode") {
    case "delete":
      let isOld = isSame && revision <= replica.revision && !keeps(.deletionOfAnyRevision)
      return isOld ? "a keyframe in step" : "a deletion"
    case "reload":
      if replica.state == nil { return "another reload" }
      let isEqual = revision == replica.revision && text(json, "checksum") == replica.checksum
      if isEqual, !isSame, !keeps(.equalReloadOfOtherEpoch) { return "ignored" }
      if revision < replica.revision, !isSame, !keeps(.olderReloadOfOtherEpoch) { return "ignored" }
      if !isSame { return "another reload" }
      if revision < replica.revision { return "an older reload" }
      if revision == replica.revision, !replica.isStale {
        return isEqual ? "a keyframe in step" : "a reload that differs"
      }
      let isNext = revision <= replica.revision + 1 || keeps(.reloadOfAnyNextRevision)
      let follows = base == revision || base == revision - 1 || keeps(.reloadOfAnyBase)
      return isNext && follows ? "another reload" : "refused"
    default:
      if !isSame { return "another difference" }
      if replica.isStale, !keeps(.staleFirst) { return "another difference" }
      let old = keeps(.olderOfRevision) ? revision : base + 1
      if old < replica.revision || old == replica.revision && keeps(.olderBySmaller) {
        return "an old difference"
      }
      let fits =
        base == replica.revision || base < replica.revision && !keeps(.lessBase)
        || base > replica.revision && !keeps(.greaterBase)
      let isNext = revision == base + 1 || keeps(.anyNextRevision)
      return fits && isNext && !replica.isStale ? "a difference that fits" : "another difference"
    }
  }

  /// Performs the table's action, unless that is the broken rule.
  private static func act(
    _ row: String,
    _ column: String,
    _ json: OracleJSON?,
    _ replica: Replica,
    _ isRefused: inout Bool
  ) -> Replica {
    var stale = replica
    (stale.isStale, stale.parts) = (true, [])
    if row == "ignored" { return replica }
    guard let right = FinerRules.cells.first(where: { $0.row == row && $0.column == column })?.action else {
      return stale
    }
    var action = right
    if Rule.trial != nil {
      let (isStale, isWaiting) = (replica.isStale, replica.isWaiting)
      for other in FinerRules.others(row, column, stale: isStale, waiting: isWaiting, right)
      where !keeps(FinerRules.name(row, column, stale: isStale, waiting: isWaiting, other)) { action = other }
    }
    if row == "a deletion", let json {
      let hasParts = number(json, "part") > 0 || number(json, "parts") > 1
      let hasEntries = json.last("sections") != nil || json.last("items") != nil
      if hasParts && !keeps(.deletionHasNoParts) || hasEntries && !keeps(.deletionHasNoEntries) {
        return stale
      }
    }
    switch action {
    case .forget: return Replica()
    case .ignore:
      if let json, formed(json) == nil, !keeps(.ignoredUnread) { return stale }
      return replica
    case .stale: return stale
    case .take: return json.map { takePart($0, replica, stale, &isRefused) } ?? replica
    case .staleTake: return json.map { takePart($0, stale, stale, &isRefused) } ?? replica
    }
  }

  private static func takePart(
    _ json: OracleJSON,
    _ replica: Replica,
    _ stale: Replica,
    _ isRefused: inout Bool
  ) -> Replica {
    var next = replica
    let part = number(json, "part")
    let isWhole = number(json, "parts") == 1
    if part == 0, keeps(isWhole ? .wholeDropsParts : .firstPartDropsParts) { next.parts = [] }
    let fields: [(String, Rule)] = [
      ("epoch", .partsOfOneEpoch), ("revision", .partsOfOneRevision), ("mode", .partsOfOneMode),
      ("reason", .partsOfOneReason), ("parts", .partsOfOneNumber), ("checksum", .partsOfOneChecksum),
    ]
    let others: [(String, Rule)] = [
      ("base", .partsOfAnyBase), ("time", .partsOfAnyTime), ("through", .partsOfAnyThrough),
    ]
    let continues = next.parts.first.map { first in
      func isSame(_ name: String) -> Bool { first.last(name)?.minified == json.last(name)?.minified }
      return fields.allSatisfy { isSame($0.0) || !keeps($0.1) }
        && others.allSatisfy { isSame($0.0) || keeps($0.1) }
    }
    guard part == next.parts.count || !keeps(.nextPart), continues ?? true else {
      var strange = keeps(.strangePartIsStale) ? stale : next
      strange.parts = keeps(.strangePartDropsParts) ? [] : next.parts
      return strange
    }
    next.parts.append(json)
    let isExplicit = isWhole && json.last("parts") != nil && !keeps(.onePartIsAll)
    let isAlone = json.last("part") != nil && json.last("parts") == nil && !keeps(.partsDefaultToOne)
    if formed(json) == nil, !keeps(.faultsAtTheEnd) { return stale }
    guard next.parts.count >= number(json, "parts") && !isExplicit && !isAlone || !keeps(.allParts) else {
      return next
    }
    // A value with an incomplete entry is not a changeset, either; this is detected when it is applied.
    let parts = next.parts.compactMap(formed)
    isRefused = parts.count < next.parts.count
    guard !isRefused, let state = try? NaiveReplica.apply(parts, to: next.state) else { return stale }
    let isReload = text(json, "mode") == "reload"
    guard
      OracleChecksum.text(OracleChecksum.of(state)) == text(json, "checksum")
        || !keeps(isReload ? .reloadChecksum : .deltaChecksum)
    else {
      if keeps(isReload ? .reloadKeepsState : .faultKeepsState) { return stale }
      var wrong = stale
      wrong.state = state
      return wrong
    }
    var result = Replica(
      state: state,
      epoch: json.last("epoch")?.string ?? [],
      revision: number(json, "revision")
    )
    if isReload, next.state != nil, !keeps(.reloadEpoch) { result.epoch = next.epoch }
    if !isReload, !keeps(.deltaRevision) { result.revision = next.revision + 1 }
    if isReload, !keeps(.reloadEndsStale) { result.isStale = replica.isStale }
    return result
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
    guard let json = parsed(value), case .object = json.content else { return nil }
    let isText = { (value: OracleJSON) in value.string != nil }
    let isObject = { (value: OracleJSON) in if case .object = value.content { true } else { false } }
    let fields: [(name: String, needed: Rule, typed: Rule?, hasType: (OracleJSON) -> Bool)] = [
      ("feed", .needsFeed, .feedIsText, isText), ("epoch", .needsEpoch, .epochIsText, isText),
      ("revision", .needsRevision, nil, { isNumber($0, "revision") }),
      ("base", .needsBase, nil, { isNumber($0, "base") }),
      ("mode", .needsMode, .modeIsText, isText), ("time", .needsTime, .timeIsText, isText),
      ("through", .needsThrough, .throughIsObject, isObject),
      ("checksum", .needsChecksum, .checksumIsText, isText),
    ]
    for field in fields {
      guard let value = json.last(field.name) else {
        if keeps(field.needed) { return nil } else { continue }
      }
      if !field.hasType(value), field.typed.map(keeps) ?? true, keepsType(value, field.name) { return nil }
    }
    if let reason = json.last("reason"), !isText(reason), keeps(.reasonIsText), keepsType(reason, "reason") {
      return nil
    }
    if !text(json, "epoch").contains(":"), !keeps(.epochOfAnyForm) { return nil }
    if text(json, "epoch").isEmpty, !keeps(.epochMayBeEmpty) { return nil }
    if !text(json, "time").hasSuffix("Z"), !keeps(.timeOfAnyForm) { return nil }
    guard json.last("feed")?.string ?? key.feed == key.feed || !keeps(.feedIsThatOfKey),
      isReasonRight(json), arePartsRight(json), isThroughRight(json), isChecksumRight(json)
    else { return nil }
    if number(json, "revision") == 0, !keeps(.revisionMayBeZero) { return nil }
    let part = number(json, "part")
    switch text(json, "mode") {
    case "reload":
      let isReload = key.kind == "k" || !keeps(.keyOfReloadLetter)
      let isOfPart =
        key.number == part || key.kind == "k" && !keeps(.keyOfItsPart) || key.kind == "d" && isReload
      return isReload && isOfPart || !keeps(.keyOfReload) ? json : nil
    case "diff", "reconfigure", "delete": return key.kind == "d" || !keeps(.keyOfDelta) ? json : nil
    case ""
    where !keeps(json.last("mode") == nil ? .needsMode : .modeIsText) || !keepsType(json.last("mode"), "mode"):
      return json
    default: return keeps(.modeKnown) ? nil : json
    }
  }

  private static func parsed(_ value: [UInt8]) -> OracleJSON? {
    var text = keeps(.changesetIsUTF8) ? value : Array(String(decoding: value, as: UTF8.self).utf8)
    if text.starts(with: [0xEF, 0xBB, 0xBF]), !keeps(.changesetWithoutMark) { text.removeFirst(3) }
    if let json = try? OracleJSON.parse(text) { return keeps(.lastMemberCounts) ? json : json.reversed }
    let hasSurrogate = String(decoding: text, as: UTF8.self).contains(/\\u[dD][89a-fA-F]/)
    if !hasSurrogate || keeps(.changesetPairsSurrogates) { return nil }
    let other = String(decoding: text, as: UTF8.self).replacing(/\\u[dD][89a-fA-F][0-9a-fA-F]{2}/, with: "?")
    return try? OracleJSON.parse(Array(other.utf8))
  }

  /// Whether a rule of a family rejects a value in place of a text.
  private static func keepsType(_ value: OracleJSON?, _ name: String) -> Bool {
    switch value?.content {
    case .number: keeps("11.7 \(name): is not a number")
    case .null: keeps("11.7 \(name): is not null")
    case .array: keeps("11.7 \(name): is not a list")
    default: true
    }
  }

  private static func isReasonRight(_ json: OracleJSON) -> Bool {
    let known = ["initial", "requested", "disjoint", "changes", "fraction", "kinds", "bytes", "keyframe"]
    let isReload = text(json, "mode") == "reload"
    guard json.last("reason") != nil else { return !isReload || keeps(.reasonOptional) }
    return (isReload || keeps(.reasonOfDifference))
      && (known.contains(text(json, "reason")) || keeps(.reasonOfAnyForm))
  }

  private static func arePartsRight(_ json: OracleJSON) -> Bool {
    guard ["part", "parts"].allSatisfy({ name in json.last(name).map { isNumber($0, name) } ?? true }) else {
      return false
    }
    let (part, parts) = (number(json, "part"), number(json, "parts"))
    if part > 0, json.last("parts") == nil, !keeps(.partAlone) { return true }
    return (part < parts || !keeps(.partBelowParts)) && (parts <= 1_000_001 || !keeps(.partsBounded))
      && (parts != 1_000_001 || keeps(.mostParts))
  }

  private static func isThroughRight(_ json: OracleJSON) -> Bool {
    guard case .object(let offsets)? = json.last("through")?.content else { return true }
    let names = offsets.map { String(decoding: $0.name, as: UTF8.self) }
    return offsets.allSatisfy({ isNumber($0.value, "an offset in through") || !keeps(.throughOfNumbers) })
      && names.allSatisfy(isTopic) && (names.count <= 200 || !keeps(.topicsLimited))
      && (names.count != 200 || keeps(.twoHundredTopics)) && (!names.isEmpty || keeps(.throughMayBeEmpty))
      && (names.allSatisfy { $0.utf8.count != 249 } || keeps(.longestTopic))
  }

  private static func isTopic(_ name: String) -> Bool {
    func breaks(_ rule: String) -> Bool { !keeps("11.7 a topic in through: \(rule)") }
    if name.isEmpty { return breaks("is not empty") }
    if name == "." { return breaks("is not a dot") }
    if name == ".." { return breaks("is not two dots") }
    if name.utf8.count > 249 { return breaks("has at most 249 bytes") }
    return name.wholeMatch(of: /[A-Za-z0-9._\-]+/) != nil || breaks("has letters, digits and three signs")
  }

  private static func isChecksumRight(_ json: OracleJSON) -> Bool {
    guard let checksum = json.last("checksum")?.string else { return true }
    if text(json, "mode") == "delete", checksum != Array("00000000".utf8), !keeps(.deletionOfAnyChecksum) {
      return false
    }
    if checksum.count == 8, checksum.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) { return true }
    if checksum.count != 8, checksum.allSatisfy({ "0123456789abcdef".utf8.contains($0) }),
      !keeps(.checksumLength)
    {
      return true
    }
    if checksum.count == 8, checksum.allSatisfy({ "0123456789abcdefABCDEF".utf8.contains($0) }),
      !keeps(.checksumLowerCase)
    {
      return true
    }
    return !keeps(.checksumIsHexadecimal)
  }

  // MARK: - Entries

  /// A record whose entries have all required fields, of the right types; otherwise nil. Entries that only a broken rule accepts
  /// are corrected.
  private static func formed(_ json: OracleJSON) -> OracleJSON? {
    let isReload = text(json, "mode") == "reload"
    if isFormed(json) { return isAccepted(json, isReload) ? json : nil }
    guard Rule.trial != nil else { return nil }
    if isReload {
      guard let sections = repaired(json, "reload", "sections") else { return nil }
      let whole = sections.compactMap { section -> [UInt8]? in
        guard section.last("items") != nil else { return section.minified }
        guard let items = repaired(section, "reload", "items") else { return nil }
        return section.setting("items", to: OracleJSON.list(items.map(\.minified))).minified
      }
      return whole.count < sections.count ? nil : json.setting("sections", to: OracleJSON.list(whole))
    }
    var json = json
    for group in ["sections", "items"] {
      guard var lists = json.last(group) else { continue }
      if case .object = lists.content {
      } else {
        guard !keepsKind(lists, "11.7 the lists of \(group): what has them") else { return nil }
        lists = OracleJSON.empty
      }
      for list in ["delete", "insert", "move", "reconfigure", "reload"] where lists.last(list) != nil {
        guard let entries = repaired(lists, group, list) else { return nil }
        lists = lists.setting(list, to: OracleJSON.list(entries.map(\.minified)))
      }
      json = json.setting(group, to: lists.minified)
    }
    return json
  }

  /// The entries of a list; nil unless they are valid, or corrected.
  private static func repaired(_ json: OracleJSON, _ group: String, _ name: String) -> [OracleJSON]? {
    guard let list = json.last(name) else { return [] }
    let family = "11.7 the list \(group).\(name):"
    guard let elements = list.elements else { return keepsKind(list, family) ? nil : [] }
    guard let example = FinerRules.examples.first(where: { $0.group == group && $0.list == name }),
      let right = try? OracleJSON.parse(Array(example.entry.utf8))
    else { return nil }
    var entries: [OracleJSON] = []
    for element in elements {
      guard case .object = element.content else {
        let kind =
          switch element.content {
          case .number: "has no numbers"
          case .null: "has no nulls"
          case .string: "has no strings"
          case .array: "has no lists"
          default: ""
          }
        if kind.isEmpty || keeps("\(family) \(kind)") { return nil }
        continue
      }
      var entry = element
      for field in example.fields {
        guard let fault = fault(of: field, entry.at(field), isOfItems: group == "items") else { continue }
        if fault.isEmpty || keeps("11.7 an entry of \(group).\(name): \(field) \(fault)") { return nil }
        entry = entry.setting(field, to: right.at(field)?.minified ?? [])
      }
      entries.append(entry)
    }
    return entries
  }

  private static func keepsKind(_ value: OracleJSON, _ family: String) -> Bool {
    switch value.content {
    case .number: keeps("\(family) is not a number")
    case .null: keeps("\(family) is not null")
    case .string: keeps("\(family) is not a string")
    case .object: keeps("\(family) is not an object")
    case .array: keeps("\(family) is not a list")
    case .boolean: true
    }
  }

  /// The fault of a required field; nil if there is none, empty if no rule of a family covers it.
  private static func fault(of field: String, _ value: OracleJSON?, isOfItems: Bool) -> String? {
    guard let value else { return "is there" }
    let name = field.split(separator: ".").last
    switch name {
    case "data": return nil
    case "id", "section", "kind":
      if value.content == .null { return "is not null" }
      guard let text = value.string else { return "is a string" }
      if text.count > 255, name != "section" { return "has at most 255 bytes" }
      return text.isEmpty && name != "kind" ? "is not empty" : nil
    case "from" where isOfItems && !field.contains("."), "to" where isOfItems && !field.contains("."):
      if case .object = value.content { return nil }
      return "is of the right type"
    default:
      let fault = numberFault(value)
      return !isOfItems && ["from", "to"].contains(field) && fault != nil ? "is of the right type" : fault
    }
  }

  /// The fault of a number; empty if no rule of a family covers it.
  private static func numberFault(_ value: OracleJSON) -> String? {
    if number(value) != nil { return nil }
    switch value.content {
    case .string: return "is not a string"
    case .null: return "is not null"
    case .array: return "is not a list"
    case .number:
      let text = String(decoding: value.minified, as: UTF8.self)
      return text.hasPrefix("-") ? "is not negative" : text.contains(".") ? "is whole" : "is at most 2⁵³ − 1"
    default: return ""
    }
  }

  /// Whether there is no fault, except by a broken rule that allows something.
  private static func isAccepted(_ json: OracleJSON, _ isReload: Bool) -> Bool {
    let groups = ["sections", "items"].compactMap { json.last($0) }
    let known = ["delete", "insert", "move", "reconfigure", "reload"]
    if !isReload {
      let names = groups.flatMap { group -> [[UInt8]] in
        if case .object(let members) = group.content { members.map(\.name) } else { [] }
      }
      if names.contains(where: { !known.contains(String(decoding: $0, as: UTF8.self)) }),
        !keeps(.unknownListsIgnored)
      {
        return false
      }
      if groups.isEmpty, !keeps(.listsOptional) { return false }
      let others = names.contains { $0 != Array("reconfigure".utf8) }
      if text(json, "mode") == "reconfigure", others, !keeps(.modesAlike) { return false }
      let kinds = (json.last("items")?.last("reconfigure")?.elements ?? []).compactMap { $0.last("kind") }
      if !kinds.allSatisfy({ ($0.string?.count ?? 256) <= 255 }), !keeps(.reconfigureKindAnything) {
        return false
      }
    }
    var entries = groups.flatMap { group in
      known.flatMap { group.last($0)?.elements ?? [] } + (group.elements ?? [])
    }
    let hasOrder = { (entry: OracleJSON) in entry.last("order").map { OracleSectionOrder($0) == nil } ?? false
    }
    if entries.contains(where: hasOrder), !keeps(.orderOfAnyForm) { return false }
    if entries.contains(where: { $0.last("keep").map { OracleKeep.number($0) == nil } ?? false }),
      !keeps(.keepOfAnyForm)
    {
      return false
    }
    entries += entries.flatMap { $0.last("items")?.elements ?? [] }
    if entries.contains(where: { $0.last("id")?.string?.count == 255 }), !keeps(.longestID) { return false }
    return !entries.contains { $0.last("kind")?.string?.count == 255 } || keeps(.longestKind)
  }

  /// Whether every entry of a record has all required fields, of the right types.
  private static func isFormed(_ json: OracleJSON) -> Bool {
    func areFormed(_ holder: OracleJSON, _ group: String, _ name: String) -> Bool {
      guard let list = holder.last(name) else { return true }
      guard let elements = list.elements,
        let example = FinerRules.examples.first(where: { $0.group == group && $0.list == name })
      else { return false }
      return elements.allSatisfy { element in
        guard case .object = element.content else { return false }
        return example.fields.allSatisfy { fault(of: $0, element.at($0), isOfItems: group == "items") == nil }
          && (group != "reload" || name == "items" || areFormed(element, "reload", "items"))
      }
    }
    if text(json, "mode") == "reload" { return areFormed(json, "reload", "sections") }
    return ["sections", "items"].allSatisfy { group in
      guard let lists = json.last(group) else { return true }
      guard case .object = lists.content else { return false }
      return ["delete", "insert", "move", "reconfigure", "reload"].allSatisfy { areFormed(lists, group, $0) }
    }
  }

  // MARK: - Numbers and texts

  private static func number(_ json: OracleJSON) -> Int? {
    guard json.content == .number, json.minified.allSatisfy({ (0x30...0x39).contains($0) }),
      let number = Int(String(decoding: json.minified, as: UTF8.self)), number < 1 << 53,
      number != 1 << 53 - 1 || keeps(.greatestNumber)
    else { return nil }
    return number
  }

  private static func isNumber(_ json: OracleJSON, _ name: String) -> Bool {
    guard let fault = numberFault(json) else { return true }
    return !fault.isEmpty && fault != "is not a list" && !keeps("11.7 \(name): \(fault)")
  }

  /// A number of the head. Only a broken rule accepts another value.
  private static func number(_ json: OracleJSON, _ name: String) -> Int {
    guard let value = json.last(name) else { return name == "parts" ? 1 : 0 }
    let text = String(decoding: value.string ?? value.minified, as: UTF8.self)
    return number(value) ?? Double(text).flatMap { Int(exactly: $0.rounded(.towardZero)) }
      ?? (name == "parts" ? 1 : 0)
  }

  private static func text(_ json: OracleJSON, _ name: String) -> String {
    String(decoding: json.last(name)?.string ?? [], as: UTF8.self)
  }
}

extension OracleJSON {
  static let empty = OracleJSON(content: .object([]), minified: Array("{}".utf8), depth: 1)

  static func list(_ elements: [[UInt8]]) -> [UInt8] {
    var text = OracleText()
    text.addList(elements)
    return text.bytes
  }

  /// The value at a path of names with dots between them.
  func at(_ path: String) -> OracleJSON? {
    path.split(separator: ".").reduce(self) { $0?.last(String($1)) }
  }

  /// The object with another value at such a path; nil removes it.
  public func setting(_ path: String, to value: [UInt8]?) -> OracleJSON {
    let names = path.split(separator: ".", maxSplits: 1).map(String.init)
    var members: [OracleJSONMember] = []
    if case .object(let own) = content { members = own }
    var text = value
    if names.count > 1 { text = (last(names[0]) ?? .empty).setting(names[1], to: value).minified }
    let place = members.firstIndex { $0.name == Array(names[0].utf8) }
    members.removeAll { $0.name == Array(names[0].utf8) }
    var texts = members.map { $0.rawName + Array(":".utf8) + $0.value.minified }
    if let text {
      texts.insert(Array("\"\(names[0])\":".utf8) + text, at: min(place ?? texts.count, texts.count))
    }
    var object = OracleText()
    object.addList(texts, "{", "}")
    return (try? OracleJSON.parse(object.bytes)) ?? self
  }

  /// With the members of each object in the opposite order.
  var reversed: OracleJSON {
    switch content {
    case .object(let members):
      let reversed = members.reversed().map { member in
        OracleJSONMember(rawName: member.rawName, name: member.name, value: member.value.reversed)
      }
      return OracleJSON(content: .object(Array(reversed)), minified: minified, depth: depth)
    case .array(let elements):
      return OracleJSON(content: .array(elements.map(\.reversed)), minified: minified, depth: depth)
    default: return self
    }
  }
}
