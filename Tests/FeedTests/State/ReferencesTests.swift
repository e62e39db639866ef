import Testing

@testable import Feed
@testable import FeedChecks

@Suite struct ReferencesTests {
  private let state = FeedState()
  private let table = ContentTable()
  private let index: ReferenceIndex
  private let item: ElementHandle

  init() {
    index = ReferenceIndex(table)
    state.join(index, as: 7)
    let section = state.makeSection(ByteSpan("s"), ByteHash.of(ByteSpan("s")))
    state.attach(section, .sections, at: .first)
    item = state.items.create(ByteSpan("i"), ByteHash.of(ByteSpan("i")))
    state.setContent(item: item, ElementFields.ofNewItem)
    state.attach(item, .items(of: section), at: .first)
    state.confirm()
  }

  private func set(_ data: StaticString? = nil, _ refs: StaticString?) {
    state.setContent(
      item: item,
      ElementFields(data: data.map { ByteSpan($0) }, refs: refs.map { ByteSpan($0) })
    )
    state.checkInvariants()
  }

  private func number(_ id: StaticString) -> UInt32 {
    let number = table.use(ByteSpan(id))
    table.endUses(number)
    return number
  }

  @Test func `data is composed of an item's own data and contents`() {
    set("{}", #"{"a":"x","b":"y"}"#)
    #expect(state.items[item].data.text == #"{"a":null,"b":null}"#)
    let position = RecordPosition(topic: [], offset: 0, timestamp: 0)
    let change = table.set(ByteSpan(#""y""#), ByteSpan(#"{"n":1}"#), at: position, partition: 0)
    #expect(change.number == number(#""y""#))
    #expect(state.showContents(item) && !state.showContents(item))
    #expect(state.items[item].data.text == #"{"a":null,"b":{"n":1}}"#)
    set(#"{"own":1}"#, nil)
    #expect(state.items[item].data.text == #"{"own":1,"a":null,"b":{"n":1}}"#)
    set(nil, #"{"b":"y"}"#)
    #expect(state.items[item].data.text == #"{"own":1,"b":{"n":1}}"#)
    set(nil, "")
    #expect(state.items[item].data.text == #"{"own":1}"#)
    #expect(state.fields(item: item).refs == nil)
    state.confirm()
    #expect(state.referenceCount == 0 && table.count == 1)
  }

  @Test func `published and current content share references until these change`() {
    set("{}", #"{"a":"x"}"#)
    state.confirm()
    set(#"{"n":1}"#, nil)
    #expect(state.referenceCount == 1 && index.count(number(#""x""#)) == 1)
    set(nil, #"{"a":"y"}"#)
    #expect(state.referenceCount == 2)
    #expect(state.tally().reconfigureCount == 1)
    state.rollBack()
    state.checkInvariants()
    #expect(state.referenceCount == 1 && state.items[item].data.text == #"{"a":null}"#)
    #expect(table.count == 1)
  }

  @Test func `other references with the same data are a change`() {
    set("{}", #"{"a":"x"}"#)
    state.confirm()
    set(nil, #"{"a":"y"}"#)
    #expect(state.tally().reconfigureCount == 1)
    set(nil, #"{"a":"x"}"#)
    #expect(state.tally().reconfigureCount == 0)
  }

  @Test func `a record that is undone leaves no references`() {
    set("{}", #"{"a":"x"}"#)
    state.confirm()
    state.beginJournal()
    set(nil, #"{"a":"y","b":"z"}"#)
    set(nil, #"{"c":"z"}"#)
    state.undoJournal()
    state.checkInvariants()
    #expect(state.fields(item: item).refs?.text == #"{"a":"x"}"#)
    #expect(state.referenceCount == 1 && table.count == 1)
  }

  @Test func `of many references each can be removed`() {
    let section = state.items[item].scope
    var handles: [ElementHandle] = []
    for number in 0..<100 {
      withSpan("i\(number)") { id in
        let handle = state.items.create(id, ByteHash.of(id))
        let fields = ElementFields(kind: .empty, data: ByteSpan("{}"), refs: ByteSpan(#"{"a":"x","b":"x"}"#))
        state.setContent(item: handle, fields)
        state.attach(handle, section, at: Rank(number))
        handles.append(handle)
      }
    }
    state.confirm()
    #expect(index.count(number(#""x""#)) == 200)
    for (number, handle) in handles.enumerated() where number % 3 != 0 {
      state.setContent(item: handle, ElementFields(refs: .empty))
    }
    state.confirm()
    state.checkInvariants()
    #expect(index.count(number(#""x""#)) == 68)
  }

  @Test func `a snapshot has the references, and its differences carry them`() throws {
    set("{}", #"{"a":"x"}"#)
    state.confirm()
    var snapshot = Snapshot(copying: state)
    let id = ItemIdentifier(ByteSpan("i"))
    #expect(snapshot.references(ofItem: id)?.description == #"{"a":"x"}"#)
    var entry = ItemChanges.Entry(
      id: id,
      position: ItemPosition(section: SectionIdentifier(ByteSpan("s")), index: 0),
      data: JSONData(checked: ByteSpan(#"{"b":1}"#)),
      references: JSONData(checked: ByteSpan(#"{"b":"y"}"#))
    )
    var difference = SnapshotDifference()
    difference.items.reconfigures = [entry]
    try snapshot.apply(difference)
    #expect(snapshot.references(ofItem: id)?.description == #"{"b":"y"}"#)
    snapshot.checkInvariants()
    // A value of another form counts as none.
    for wrong in ["5", "{}", #"{"a":5}"#, #"{"a":"1","b":"2","c":"3","d":"4","e":"5"}"#] {
      entry.references = withSpan(wrong) { JSONData(checked: $0) }
      difference.items.reconfigures = [entry]
      try snapshot.apply(difference)
      #expect(snapshot.references(ofItem: id) == nil)
    }
  }
}
