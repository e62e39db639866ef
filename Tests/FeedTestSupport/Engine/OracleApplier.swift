import Feed

/// Applies events in sequence to a copy of a feed's state.
struct OracleApplier {
  private(set) var state: OracleFeedState
  private(set) var noOps: [OracleNoOp] = []
  private let limits: Limits
  /// The usage of other feeds.
  private let others: OracleUsage
  /// The feed before the record.
  private let before: OracleFeed?
  /// The number of the current event, in a record that is an array.
  private var number: Int?

  init(state: OracleFeedState, limits: Limits, others: OracleUsage) {
    self.state = state
    self.limits = limits
    self.others = others
    before = state.current
  }

  /// Applies all events of a record. After an error, `state` is undefined.
  mutating func apply(_ events: [OracleEvent], of record: OracleRecord) throws(OracleRejection) {
    for event in events {
      number = event.number
      let previous = state.current
      try checkFeeds(event)
      if event.op == .sectionReplace || event.op == .feedReplace { try checkList(event) }
      try apply(event)
      noteDeletions(since: previous)
      if previous == nil, state.current != nil {
        // As a replay does, which takes a record at its timestamp.
        state.born = "\(record.topic):\(record.timestamp)/\(record.offset)"
        if state.published == nil { state.taken = [:] }
      }
    }
    number = nil
    try checkItems()
    let sections = state.current?.sections.count ?? 0
    if sections > limits.maxSections, sections > before?.sections.count ?? 0 {
      throw OracleRejection(limit: "limits.maxSections", event: nil)
    }
    try checkState()
  }

  /// Checks the limit on feeds, if the record would create one.
  private func checkFeeds(_ event: OracleEvent) throws(OracleRejection) {
    switch event.op {
    case .feedReplace, .sectionUpsert, .sectionReplace, .itemUpsert: break
    default: return
    }
    if before == nil, state.current == nil, others.feeds + 1 > limits.maxFeeds {
      throw OracleRejection(limit: "limits.maxFeeds", event: number)
    }
  }

  /// Checks the size that a complete list would lead to, before its anchor.
  private func checkList(_ event: OracleEvent) throws(OracleRejection) {
    var trial = self
    var event = event
    event.place = nil
    try trial.apply(event)
    try trial.checkItems()
    try trial.checkState()
  }

  private func checkItems() throws(OracleRejection) {
    let items = state.current?.itemCount ?? 0
    if items > limits.maxItems, items > before?.itemCount ?? 0 {
      throw OracleRejection(limit: "limits.maxItems", event: number)
    }
  }

  private func checkState() throws(OracleRejection) {
    let bytes = state.current?.stateBytes ?? 0
    if others.bytes + bytes > limits.maxStateBytes, bytes > before?.stateBytes ?? 0 {
      throw OracleRejection(limit: "limits.maxStateBytes", event: number)
    }
  }

  /// Deletes the feed, as a null value does.
  mutating func deleteFeed() {
    let previous = state.current
    if previous == nil { noOps.append(.unknownFeed) }
    state.current = nil
    noteDeletions(since: previous)
  }

  private func rejection(_ code: OracleRejectCode, _ field: String? = nil) -> OracleRejection {
    OracleRejection(code, event: number, field: field)
  }

  /// Deleted elements are no longer forced, and count as placed if they are recreated.
  private mutating func noteDeletions(since previous: OracleFeed?) {
    guard let previous else { return }
    let items = Set(state.current?.itemIDs ?? [])
    for id in previous.itemIDs where !items.contains(id) {
      state.forced.forgetItem(id)
      state.placements.items.insert(id)
    }
    let sections = Set(state.current?.sectionIDs ?? [])
    for id in previous.sectionIDs where !sections.contains(id) {
      state.forced.forgetSection(id)
      state.placements.sections.insert(id)
      state.placements.replacedLists.remove(id)
    }
    if sections.isEmpty { state.placements.sectionListReplaced = false }
    if state.current == nil { state.forced = OracleForced() }
  }

  private mutating func apply(_ event: OracleEvent) throws(OracleRejection) {
    switch event.op {
    case .feedReplace: replaceFeed(event)
    case .feedClear:
      if state.current == nil { noOps.append(.unknownFeed) } else { state.current = OracleFeed() }
    case .feedDelete: deleteFeed()
    case .feedReload:
      if state.current == nil { noOps.append(.unknownFeed) } else { state.forced.feedReload = true }
    case .sectionUpsert, .sectionReplace: try putSection(event)
    case .sectionMove:
      if section(event) == nil { noOps.append(.unknownSection) } else { try putSection(event) }
    case .sectionDelete:
      if let index = section(event) {
        state.current?.sections.remove(at: index)
      } else {
        noOps.append(.unknownSection)
      }
    case .sectionReload:
      if section(event) == nil {
        noOps.append(.unknownSection)
      } else if let id = event.section {
        state.forced.sectionReloads.insert(id)
      }
    case .itemUpsert: try putItem(event)
    case .itemPatch, .itemMove, .itemDelete, .itemReconfigure, .itemReload:
      guard let id = event.item, let location = state.current?.location(of: id) else {
        noOps.append(.unknownItem)
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

  private mutating func replaceFeed(_ event: OracleEvent) {
    let known = state.current ?? OracleFeed()
    let items = known.itemsByID
    let sections = event.sections.map { listed in
      OracleSection(
        id: listed.id,
        data: listed.data ?? known.section(listed.id)?.data ?? Array("null".utf8),
        items: listed.items.map { $0.item(keeping: items[$0.id]) }
      )
    }
    state.current = OracleFeed(sections: sections)
    state.placements.sectionListReplaced = true
    state.placements.replacedLists.formUnion(sections.map(\.id))
  }

  /// `section.upsert`, `section.replace` and `section.move`.
  private mutating func putSection(_ event: OracleEvent) throws(OracleRejection) {
    guard let id = event.section else { return }
    var feed = state.current ?? OracleFeed()
    let index = feed.sectionIndex(of: id)
    var section = OracleSection(id: id)
    if event.op == .sectionReplace {
      let known = feed.itemsByID
      let items = event.items.map { $0.item(keeping: known[$0.id]) }
      let listed = Set(items.map(\.id))
      for place in feed.sections.indices { feed.sections[place].items.removeAll { listed.contains($0.id) } }
      if let index { feed.sections[index].items = items } else { section.items = items }
      state.placements.replacedLists.insert(id)
    }
    if let index { section = feed.sections.remove(at: index) }
    if let data = event.data, event.op != .sectionMove { section.data = data.minified }
    let place = event.place ?? index.map(OraclePlace.index) ?? .last
    guard let position = place.position(in: feed.sectionIDs) else { throw rejection(.unknownAnchor, "at") }
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
    guard let target = event.section ?? oldSection else { throw rejection(.unknownSection, "section") }
    var item = OracleItem(id: id)
    if let old { item = feed.sections[old.section].items.remove(at: old.index) }
    if event.op == .itemUpsert {
      item.kind = event.kind ?? item.kind
      item.data = event.data?.minified ?? item.data
    }
    if feed.section(target) == nil { feed.sections.append(OracleSection(id: target)) }
    guard let section = feed.sectionIndex(of: target) else { return }
    let stays = oldSection == target
    let place = event.place ?? (stays ? old.map { OraclePlace.index($0.index) } : nil) ?? .last
    guard let position = place.position(in: feed.sections[section].items.map(\.id)) else {
      throw rejection(.unknownAnchor, "at")
    }
    feed.sections[section].items.insert(item, at: position)
    if event.place != nil || !stays { state.placements.items.insert(id) }
    state.current = feed
  }

  private mutating func patchItem(
    at location: OracleFeed.Location,
    _ event: OracleEvent
  ) throws(OracleRejection) {
    guard var feed = state.current, let patch = event.data else { return }
    let item = feed.sections[location.section].items[location.index]
    // The data was valid JSON when it was stored.
    let target = try? OracleJSON.parse(item.data, maxDepth: .max)
    let data = OracleMergePatch.merge(patch, into: target)
    guard data.count <= limits.maxDataBytes else { throw rejection(.limitExceeded, "data") }
    feed.sections[location.section].items[location.index].data = data
    state.current = feed
  }
}
