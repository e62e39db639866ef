import Feed

/// Applies events in sequence to a copy of a feed's state.
struct OracleApplier {
  private(set) var state: OracleFeedState
  private(set) var noOps: [OracleNoOp] = []
  /// The number of items that were deleted because they were beyond their section's bound.
  private(set) var cut = 0
  /// The number of elements that events have removed with whole lists.
  private(set) var removedElements = 0
  private let limits: Limits
  /// The usage of other feeds.
  private let others: OracleUsage
  /// The feed before the record.
  private let before: OracleFeed?
  private let contents: OracleContents
  /// When the record was taken.
  private var now = 0
  /// Whether only the size after an event is of interest.
  private var isTrial = false
  /// The number of the current event, in a record that is an array.
  private var number: Int?

  init(state: OracleFeedState, limits: Limits, others: OracleUsage, contents: OracleContents = [:]) {
    self.contents = contents
    self.state = state
    self.limits = limits
    self.others = others
    before = state.current
  }

  /// Applies all events of a record. After an error, `state` is undefined.
  mutating func apply(_ events: [OracleEvent], of record: OracleRecord) throws(OracleRejection) {
    now = record.time
    for event in events where keeps(.conditionBeforeRecord) { try check(event) }
    for event in keeps(.eventsInOrder) ? events : events.reversed() {
      number = event.number
      if !keeps(.conditionBeforeRecord) { try check(event) }
      let previous = state.current
      if keeps(.feedsBeforeApplication) { try checkFeeds(event) }
      if !keeps(.faultRemovesNothing) { removedElements += Self.removal(by: event, from: previous) }
      if event.op == .sectionReplace || event.op == .feedReplace { try checkList(event) }
      if keeps(.topicsAcceptAll) || record.topic != "feeds.sections" || event.item == nil { try apply(event) }
      orderSections(after: event, since: previous)
      if !keeps(.cutLast) { cutSections() }
      if keeps(.faultRemovesNothing) { removedElements += Self.removal(by: event, from: previous) }
      noteDeletions(since: previous, clears: event.op == .feedClear, isList: event.op == .sectionReplace)
      if !keeps(.countedOnce) { try checkItems() }
      if previous == nil, state.current != nil, state.born == nil || keeps(.epochOfLastCreation) {
        // Like a replay, which uses a record's timestamp.
        state.born = "\(record.topic):\(record.timestamp)/\(record.offset)"
        if state.published == nil, keeps(.throughOfThisLife) { state.taken = [:] }
      }
    }
    number = nil
    if !keeps(.cutBeforeLimits) { try checkItems() }
    if !keeps(.endedBeforeCut) { cutSections() }
    if keeps(.endedDeleted) {
      let now = now
      deleteItems { $0 < now || $0 == now && keeps(.endsAtItsTime) }
    }
    cutSections()
    for event in events where !keeps(.feedsBeforeApplication) { try checkFeeds(event) }
    try checkItems()
    let sections = state.current?.sections.count ?? 0
    if !isWithin(sections, limits.maxSections, "limits.maxSections"), sections > before?.sections.count ?? 0,
      keeps(.sectionsLimited)
    {
      throw OracleRejection(limit: "limits.maxSections", event: nil)
    }
    try checkState()
  }

  private func check(_ event: OracleEvent) throws(OracleRejection) {
    guard let condition = event.condition, !condition.holds(for: state) else { return }
    throw OracleRejection(.conditionFailed, event: event.number, field: "if")
  }

  /// Puts the items of every ordered section in order.
  private mutating func orderSections(after event: OracleEvent, since previous: OracleFeed?) {
    guard var feed = state.current else { return }
    for (place, section) in feed.sections.enumerated() where previous?.section(section.id) != section {
      if !keeps(Self.rule(of: event, section, since: previous)) { continue }
      let items = section.orderedItems
      if items == section.items { continue }
      feed.sections[place].items = items
      // An event of an item has moved only that item, because the others were in order.
      if let item = event.item {
        state.placements.items.insert(item)
      } else {
        state.placements.replacedLists.insert(section.id)
      }
    }
    state.current = feed
  }

  /// The rule by which an event puts the items of a section in order.
  private static func rule(
    of event: OracleEvent,
    _ section: OracleSection,
    since previous: OracleFeed?
  ) -> Rule {
    guard let item = event.item else { return event.op == .sectionUpsert ? .newOrderSorts : .listsSorted }
    guard let feed = previous, let old = feed.location(of: item) else { return .newItemSorted }
    return feed.sections[old.section].id == section.id ? .changedItemMoves : .crossingSorted
  }

  /// Deletes the items beyond the bounds of sections.
  private mutating func cutSections() {
    guard let previous = state.current else { return }
    var feed = previous
    for place in feed.sections.indices {
      let surplus = feed.sections[place].surplus
      feed.sections[place].items.removeLast(surplus)
      cut += surplus
      if !keeps(.cutUncounted) { removedElements += surplus }
    }
    if feed == previous { return }
    state.current = feed
    let forced = state.forced
    noteDeletions(since: previous)
    if !keeps(.cutDropsRequests) { state.forced = forced }
  }

  /// The number of elements that an event removes with whole lists, even if it puts some of them back.
  private static func removal(by event: OracleEvent, from feed: OracleFeed?) -> Int {
    guard let feed else { return 0 }
    let rules: [OracleOp: Rule] = [
      .feedReplace: .feedReplaceRemoves, .feedClear: .feedClearRemoves, .feedDelete: .feedDeleteRemoves,
      .sectionReplace: .sectionReplaceRemoves, .sectionDelete: .sectionDeleteRemoves,
    ]
    guard let rule = rules[event.op], keeps(rule) else { return 0 }
    if event.op == .sectionReplace || event.op == .sectionDelete {
      guard let section = event.section.flatMap({ feed.section($0) }) else { return 0 }
      let listed = Set(event.items.map(\.id))
      let count =
        keeps(.listedAgainCounts) ? section.items.count : section.items.count { !listed.contains($0.id) }
      return count + (keeps(.sectionItselfUncounted) ? 0 : 1)
    }
    return (keeps(.sectionsCount) ? feed.sections.count : 0) + (keeps(.itemsCount) ? feed.itemCount : 0)
  }

  /// Checks the limit on feeds, if the record would create one.
  private func checkFeeds(_ event: OracleEvent) throws(OracleRejection) {
    switch event.op {
    case .feedReplace, .sectionUpsert, .sectionReplace, .itemUpsert: break
    default: if keeps(.onlyCreatorsCount) { return }
    }
    let again = before != nil && !keeps(.recreatedIsNotNew) ? 1 : 0
    let isNew = state.current == nil && (before == nil || again > 0)
    if isNew, !isWithin(others.feeds + 1 + again, limits.maxFeeds, "limits.maxFeeds"), keeps(.feedsLimited) {
      throw OracleRejection(limit: "limits.maxFeeds", event: number)
    }
  }

  /// Checks the resulting size of a complete list, before its anchor.
  ///
  /// Listed items beyond a section's bound do not count as items; the check after the record covers the bytes.
  private func checkList(_ event: OracleEvent) throws(OracleRejection) {
    var trial = self
    trial.isTrial = true
    var event = event
    if keeps(.itemsBeforeAnchor) { event.place = nil }
    try trial.apply(event)
    let known = event.items.count { state.current?.location(of: $0.id) != nil }
    let listed = event.op == .feedReplace ? event.sections.map(\.id) : event.section.map { [$0] } ?? []
    let surplus = listed.reduce(0) { $0 + (trial.state.current?.section($1)?.surplus ?? 0) }
    if keeps(.itemsBeforeLater) {
      let uncounted = keeps(.surplusUncounted) ? surplus : 0
      let others = (trial.state.current?.sections ?? []).filter { !listed.contains($0.id) }.map(\.surplus)
      let elsewhere = keeps(.otherSurplusCounts) ? 0 : others.reduce(0, +)
      try trial.checkItems(adding: (keeps(.itemsElsewhere) ? 0 : known) - uncounted - elsewhere)
    }
    if keeps(.stateBeforeLater), surplus == 0 || !keeps(.surplusBytesLater) { try trial.checkState() }
  }

  private func checkItems(adding more: Int = 0) throws(OracleRejection) {
    let items = (state.current?.itemCount ?? 0) + more
    if !isWithin(items, limits.maxItems, "limits.maxItems"), items > before?.itemCount ?? 0,
      keeps(.itemsLimited)
    {
      throw OracleRejection(limit: "limits.maxItems", event: number)
    }
  }

  private func checkState() throws(OracleRejection) {
    let bytes = state.current?.stateBytes ?? 0
    if !isWithin(others.bytes + bytes, limits.maxStateBytes, "limits.maxStateBytes"),
      bytes > before?.stateBytes ?? 0, keeps(.stateLimited)
    {
      throw OracleRejection(limit: "limits.maxStateBytes", event: number)
    }
  }

  /// Deletes the feed, as a null value does.
  mutating func deleteFeed() {
    let previous = state.current
    if previous == nil { noOp(.unknownFeed) }
    state.current = nil
    noteDeletions(since: previous)
  }

  private mutating func noOp(_ reason: OracleNoOp) {
    if keeps(.noOpsCounted) { noOps.append(reason) }
    if state.current == nil, !keeps(.noOpCreatesNothing) { state.current = OracleFeed() }
  }

  private func rejection(_ code: OracleRejectCode, _ field: String? = nil) -> OracleRejection {
    OracleRejection(code, event: number, field: field)
  }

  /// Deleted elements are no longer forced, and count as placed if they are recreated.
  private mutating func noteDeletions(since previous: OracleFeed?, clears: Bool = false, isList: Bool = false)
  {
    guard let previous else { return }
    let items = Set(state.current?.itemIDs ?? [])
    let sections = Set(state.current?.sectionIDs ?? [])
    for section in previous.sections {
      let rule =
        sections.contains(section.id) ? Rule.deletionDropsItemRequests : .sectionDeletionDropsItemRequests
      for id in section.items.map(\.id) where !items.contains(id) {
        if keeps(rule), !isList || keeps(.listDropsRequests) { state.forced.forgetItem(id) }
        state.placements.items.insert(id)
      }
    }
    for id in previous.sectionIDs where !sections.contains(id) {
      if keeps(.deletionDropsSectionRequests) { state.forced.forgetSection(id) }
      state.placements.sections.insert(id)
      state.placements.replacedLists.remove(id)
    }
    if sections.isEmpty { state.placements.sectionListReplaced = false }
    if state.current == nil, keeps(.feedDeletionDropsRequests) {
      let isPending = state.forced.feedReload && !keeps(.feedDeletionDropsAtOnce)
      state.forced = OracleForced()
      state.forced.feedReload = isPending
    }
    if clears, !keeps(.clearKeepsRequests) { state.forced = OracleForced() }
  }

  private mutating func apply(_ event: OracleEvent) throws(OracleRejection) {
    if !keeps(event.op.rule) { return }
    switch event.op {
    case .feedReplace: try replaceFeed(event)
    case .feedClear:
      if state.current == nil {
        noOp(.unknownFeed)
      } else {
        state.current = keeps(.clearedFeedExists) ? OracleFeed() : nil
      }
    case .feedDelete: deleteFeed()
    case .feedReload:
      if state.current == nil { noOp(.unknownFeed) } else { state.forced.feedReload = true }
    case .sectionUpsert, .sectionReplace: try putSection(event)
    case .sectionMove:
      if section(event) == nil {
        noOp(.unknownSection)
        switch event.place {
        case .before?, .after?: if !keeps(.sectionNoOpAnchorUnchecked) { throw rejection(.unknownAnchor) }
        default: break
        }
      } else {
        try putSection(event)
      }
    case .sectionDelete:
      if let index = section(event) {
        state.current?.sections.remove(at: index)
      } else {
        noOp(.unknownSection)
      }
    case .sectionReload:
      if section(event) == nil {
        noOp(.unknownSection)
      } else if let id = event.section {
        state.forced.sectionReloads.insert(id)
      }
    case .itemUpsert: try putItem(event)
    case .itemPatch, .itemMove, .itemDelete, .itemReconfigure, .itemReload:
      guard let id = event.item, let location = state.current?.location(of: id) else {
        noOp(.unknownItem)
        if !keeps(.noOpIsNoError) { throw rejection(.unknownSection) }
        if case .before? = event.place, !keeps(.noOpAnchorUnchecked) { throw rejection(.unknownAnchor) }
        if event.place != nil, let section = event.section, state.current?.section(section)?.order != nil,
          !keeps(.noOpOrderUnchecked)
        {
          throw rejection(.orderedSection)
        }
        return
      }
      try apply(event, toItem: id, at: location)
    }
  }

  private mutating func apply(
    _ event: OracleEvent,
    toItem id: [UInt8],
    at location: OracleFeed.Location
  ) throws(OracleRejection) {
    switch event.op {
    case .itemPatch: try patchItem(at: location, event)
    case .itemDelete: state.current?.sections[location.section].items.remove(at: location.index)
    case .itemReconfigure: state.forced.itemReconfigures.insert(id)
    case .itemReload: state.forced.itemReloads.insert(id)
    default: try putItem(event)
    }
  }

  private func section(_ event: OracleEvent) -> Int? {
    event.section.flatMap { state.current?.sectionIndex(of: $0) }
  }

  /// Rejects items whose own data does not go with their references.
  private func check(_ items: [OracleItem]) throws(OracleRejection) {
    for item in items where !isTrial {
      if let fault = item.referenceFault(maxDataBytes: limits.maxDataBytes) {
        throw rejection(fault.code, fault.field)
      }
    }
  }

  private mutating func replaceFeed(_ event: OracleEvent) throws(OracleRejection) {
    let known = state.current ?? (keeps(.nothingKeptAfterDelete) ? OracleFeed() : before ?? OracleFeed())
    let items = keeps(.feedReplaceKeepsItems) ? known.itemsByID : [:]
    let sections = event.sections.map { listed in
      let old = known.section(listed.id)
      return OracleSection(
        id: listed.id,
        data: listed.data ?? (keeps(.feedReplaceKeepsSectionData) ? old?.data : nil) ?? Array("null".utf8),
        order: Self.setting(listed.order, old?.order, .feedReplaceKeepsOrder, .nullRemovesOrder),
        keep: Self.setting(listed.keep, old?.keep, .feedReplaceKeepsOrder, .nullRemovesKeep),
        ttl: Self.setting(listed.ttl, old?.ttl, .ttlStays, .nullRemovesTTL),
        items: listed.hasItems || keeps(.listedWithoutItems)
          ? self.items(
            listed.items,
            known: items,
            ttl: Self.setting(listed.ttl, old?.ttl, .ttlStays, .nullRemovesTTL)
          )
          : old?.items ?? []
      )
    }
    try check(sections.flatMap(\.items))
    if state.current == nil, sections.isEmpty, !keeps(.emptyReplaceCreates) { return }
    if !keeps(.listsKeepRequests) { state.forced = OracleForced() }
    if !keeps(.replaceKeepsFeedReload) { state.forced.feedReload = false }
    state.current = OracleFeed(sections: sections)
    state.placements.sectionListReplaced = true
    state.placements.replacedLists.formUnion(sections.map(\.id))
  }

  /// The items of a list.
  private func items(
    _ listed: [OracleListedItem],
    known: [[UInt8]: OracleItem],
    ttl: Int?
  ) -> [OracleItem] {
    listed.map { $0.item(keeping: known[$0.id], until: ttl.map(end), contents) }
  }

  private func end(after ttl: Int) -> Int { min(now + ttl, OracleEnd.last) }

  /// Sets the end of an item that an event has written in a section with a time to live.
  private mutating func renew(_ event: OracleEvent) {
    guard event.expires == nil, let id = event.item, let place = state.current?.location(of: id),
      let end = (state.current?.sections[place.section].ttl).map(end),
      keeps(event.op == .itemMove ? .movesRenew : event.op == .itemPatch ? .patchesRenew : .upsertsRenew)
    else { return }
    state.current?.sections[place.section].items[place.index].expires = end
  }

  /// Deletes the items that end at a time. Returns their number.
  mutating func endItems(at time: Int) -> Int {
    let count = deleteItems { $0 <= time }
    if count > 0 { state.time = max(time, state.time ?? time) }
    return count
  }

  @discardableResult
  private mutating func deleteItems(endingAt hasEnded: (Int) -> Bool) -> Int {
    guard let previous = state.current else { return 0 }
    for place in previous.sections.indices {
      state.current?.sections[place].items.removeAll { $0.expires.map(hasEnded) ?? false }
    }
    noteDeletions(since: previous)
    return previous.itemCount - (state.current?.itemCount ?? 0)
  }

  /// The order or bound of a section after an event.
  private static func setting<Value>(
    _ setting: OracleSetting<Value>?,
    _ old: Value?,
    _ stays: Rule,
    _ removes: Rule
  ) -> Value? {
    guard let setting else { return keeps(stays) ? old : nil }
    return setting.value ?? (keeps(removes) ? nil : old)
  }

  /// `section.upsert`, `section.replace` and `section.move`.
  private mutating func putSection(_ event: OracleEvent) throws(OracleRejection) {
    guard let id = event.section else { return }
    if state.current == nil, !keeps(.sectionsCreateFeeds) { return }
    var feed = state.current ?? OracleFeed()
    let index = feed.sectionIndex(of: id)
    var section = OracleSection(id: id)
    if event.op == .sectionReplace {
      let known = feed.itemsByID
      let ttl = Self.setting(event.ttl, index.flatMap { feed.sections[$0].ttl }, .ttlStays, .nullRemovesTTL)
      var items = self.items(event.items, known: known, ttl: ttl)
      if !keeps(.listedItemsMoveHere) {
        items.removeAll { item in feed.location(of: item.id).map { $0.section != index } ?? false }
      }
      if !keeps(.listsKeepRequests) { state.forced = OracleForced() }
      let listed = Set(items.map(\.id))
      for place in feed.sections.indices { feed.sections[place].items.removeAll { listed.contains($0.id) } }
      if let index { feed.sections[index].items = items } else { section.items = items }
      state.placements.replacedLists.insert(id)
    }
    if let index { section = feed.sections.remove(at: index) }
    if let data = event.data, event.op != .sectionMove {
      section.data = data.minified
    } else if index == nil || (event.op != .sectionMove && !keeps(.sectionDataStays)) {
      section.data = OracleItem.new(id).data
    }
    if index == nil, !keeps(.newSectionUnordered) {
      section.order = before?.section(id)?.order
      section.keep = before?.section(id)?.keep
    }
    let isOrdered = section.order != nil
    if event.op != .sectionMove {
      section.order = Self.setting(event.order, section.order, .orderStays, .nullRemovesOrder)
      section.keep = Self.setting(event.keep, section.keep, .keepStays, .nullRemovesKeep)
      section.ttl = Self.setting(event.ttl, section.ttl, .ttlStays, .nullRemovesTTL)
    }
    if isOrdered, section.order == nil, !keeps(.losesOrderInPlace) {
      section.items.sort { $0.id.lexicographicallyPrecedes($1.id) }
    }
    if section.order != nil, event.place != nil, !keeps(.orderedSectionsPlaced) {
      throw rejection(.orderedSection, "at")
    }
    let place =
      event.place ?? (keeps(.sectionKeepsPlace) ? index.map(OraclePlace.index) : nil)
      ?? (keeps(.newSectionLast) ? .last : .first)
    guard let position = position(place, of: id, at: index, in: feed.sectionIDs) else {
      throw rejection(.unknownAnchor, "at")
    }
    if event.op == .sectionReplace { try check(section.items) }
    feed.sections.insert(section, at: position)
    if event.place != nil { state.placements.sections.insert(id) }
    state.current = feed
  }

  /// `item.upsert`, and `item.move` of an item that exists.
  private mutating func putItem(_ event: OracleEvent) throws(OracleRejection) {
    guard let id = event.item else { return }
    var feed = state.current ?? OracleFeed()
    let old = feed.location(of: id)
    let oldSection = old.map { feed.sections[$0.section].id }
    guard let target = event.section ?? oldSection else {
      if !keeps(.sectionRequired) { return }
      throw rejection(.unknownSection, "section")
    }
    let isLeft = oldSection.map { feed.section($0)?.order != nil } ?? false
    let isOrdered =
      event.place != nil && keeps(.placesRejected) && (event.section != nil || keeps(.placesInOwnSection))
      && (feed.section(target)?.order != nil || isLeft && !keeps(.placesElsewhere))
    if isOrdered, keeps(.orderedBeforeAnchor) { throw rejection(.orderedSection, "at") }
    var item = OracleItem.new(id)
    if let old { item = feed.sections[old.section].items.remove(at: old.index) }
    if event.op == .itemUpsert {
      item.kind = event.kind ?? (keeps(.kindStays) ? item.kind : OracleItem.new(id).kind)
      let own = event.data?.minified ?? (keeps(.itemDataStays) ? item.own : OracleItem.new(id).data)
      item.set(own: own, refs: event.refs ?? (keeps(.referencesStay) ? item.refs : []), contents)
      if event.expires != nil || !keeps(.endStays) { item.expires = event.expires?.value }
    }
    if feed.section(target) == nil {
      if !keeps(old == nil ? .upsertCreatesSection : .moveCreatesSection) { return }
      let section = OracleSection(id: target, data: OracleItem.new(target).data)
      feed.sections.insert(section, at: keeps(.createdSectionLast) ? feed.sections.count : 0)
    }
    guard let section = feed.sectionIndex(of: target) else { return }
    let stays = oldSection == target
    let keptPlace = stays && keeps(.itemKeepsPlace) ? old.map { OraclePlace.index($0.index) } : nil
    let isLast = stays || keeps(old == nil ? .newItemLast : .crossingGoesLast)
    let place = event.place ?? keptPlace ?? (isLast ? .last : .first)
    let others = feed.sections[section].items.map(\.id)
    guard let position = position(place, of: id, at: stays ? old?.index : nil, in: others) else {
      if !keeps(.anchorInSameList), case .after = place { return }
      throw rejection(.unknownAnchor, "at")
    }
    if isOrdered { throw rejection(.orderedSection, "at") }
    if event.op == .itemUpsert, event.data != nil || event.refs != nil { try check([item]) }
    feed.sections[section].items.insert(item, at: position)
    if event.place != nil || !stays { state.placements.items.insert(id) }
    state.current = feed
    renew(event)
  }

  /// The position of an element in a list without it; nil if the anchor is not in the list.
  private func position(_ place: OraclePlace, of id: [UInt8], at old: Int?, in others: [[UInt8]]) -> Int? {
    switch place {
    case .before(id) where !keeps(.noOwnAnchor), .after(id) where !keeps(.noOwnAnchor): old ?? others.count
    case .index(let index) where old ?? .max < index && !keeps(.atIndex): min(index - 1, others.count)
    default: place.position(in: others)
    }
  }

  private mutating func patchItem(
    at location: OracleFeed.Location,
    _ event: OracleEvent
  ) throws(OracleRejection) {
    if let expires = event.expires {
      state.current?.sections[location.section].items[location.index].expires = expires.value
    }
    renew(event)
    guard var feed = state.current, event.data != nil || event.refs != nil else { return }
    var item = feed.sections[location.section].items[location.index]
    // The data was valid JSON when it was stored.
    let target = try? OracleJSON.parse(keeps(.patchOfOwnData) ? item.own : item.data, maxDepth: .max)
    let data = event.data.map { OracleMergePatch.merge($0, into: target) } ?? item.own
    guard
      isWithin(data.count, limits.maxDataBytes, "limits.maxDataBytes after a patch")
        || !keeps(.patchedLimited)
    else {
      throw rejection(.limitExceeded, "data")
    }
    var refs = item.refs
    if let patch = event.refs, keeps(.patchOfReferences) {
      guard let merged = OracleReferences.merged(refs, patch) else { throw rejection(.invalidField, "refs") }
      refs = merged
    }
    item.set(own: data, refs: refs, contents)
    try check([item])
    feed.sections[location.section].items[location.index] = item
    state.current = feed
  }
}

/// A window's effects on the order of a feed's lists. They limit the moves in a changeset.
///
/// A list that was given completely has the minimum number of moves. Of another list, at most the elements placed by
/// single events may be listed. Elements that were deleted and recreated count as placed.
public struct OraclePlacements: Sendable, Equatable {
  /// Items and sections that single events placed, or that were deleted.
  public var items: Set<[UInt8]> = []
  public var sections: Set<[UInt8]> = []
  /// Sections whose list of items was given completely.
  public var replacedLists: Set<[UInt8]> = []
  /// Whether the list of sections was given completely.
  public var sectionListReplaced = false

  public init() {}
}

/// Entries that events force into a feed's next changeset.
public struct OracleForced: Sendable, Equatable {
  /// `feed.reload`: the changeset is a reload.
  public var feedReload = false
  public var sectionReloads: Set<[UInt8]> = []
  public var itemReloads: Set<[UInt8]> = []
  public var itemReconfigures: Set<[UInt8]> = []

  public init() {}

  public var isEmpty: Bool { self == OracleForced() }

  mutating func forgetSection(_ id: [UInt8]) {
    sectionReloads.remove(id)
  }

  mutating func forgetItem(_ id: [UInt8]) {
    itemReloads.remove(id)
    itemReconfigures.remove(id)
  }
}
