/// Writes a feed's whole state part by part, without holding more than one part.
///
/// The same walk serves for counting the parts and for writing them.
struct ReloadWriter {
  private let state: FeedState
  private let head: ChangesetHead
  private let headBytes: Int
  private let limit: Int
  /// 1 for an unsplit value.
  let partCount: Int
  private var walk: Walk

  /// The position of the next part.
  private struct Walk {
    var sections: CurrentCursor
    var items: CurrentCursor?
    /// Whether an earlier part has listed the current section with its data.
    var isContinued = false
    var part = 0
    var isFinished = false

    init(_ state: FeedState) {
      sections = CurrentCursor(state.list(.sections).pointee.tree)
    }
  }

  init(_ state: FeedState, head: ChangesetHead, headBytes: Int, limit: Int) {
    self.state = state
    self.head = head
    self.headBytes = headBytes
    self.limit = limit
    walk = Walk(state)
    if ReloadWriter.byteCount(state, headBytes: headBytes) <= limit {
      partCount = 1
    } else {
      partCount = PartPlan.count { digits in
        var walk = Walk(state)
        while !walk.isFinished {
          ReloadWriter.advance(
            &walk,
            state,
            limit: limit,
            headBytes: headBytes + ChangesetHead.partByteCount(number: walk.part, countDigits: digits),
            output: nil
          )
        }
        return walk.part
      }
    }
  }

  /// Bytes of the unsplit value.
  static func byteCount(_ state: FeedState, headBytes: Int) -> Int {
    let sections = state.sectionCount
    let valueBytes = headBytes + ReloadText.objectEnd.utf8CodeUnitCount
    guard sections > 0 else { return valueBytes }
    let totals = state.totals
    // Commas stand between the elements of each list.
    let commas = sections - 1 + totals.itemCount - totals.filledSectionCount
    return valueBytes + totals.sectionBytes + totals.itemBytes
      + ReloadText.listFrame(ReloadText.sectionsOpening)
      + ReloadText.listFrame(ReloadText.itemsOpening) * totals.filledSectionCount
      + ReloadText.comma.utf8CodeUnitCount * commas
  }

  var isFinished: Bool { walk.isFinished }

  /// Writes the next part; returns its number.
  mutating func writePart(to output: ByteWriter) -> Int {
    let part = walk.part
    head.write(part: partCount == 1 ? nil : (part, partCount), to: output)
    let partBytes =
      partCount == 1
      ? 0 : ChangesetHead.partByteCount(number: part, countDigits: ByteWriter.digits(partCount))
    ReloadWriter.advance(
      &walk,
      state,
      limit: partCount == 1 ? Int.max : limit,
      headBytes: headBytes + partBytes,
      output: output
    )
    output.append(ReloadText.objectEnd)
    return part
  }

  /// Advances to the end of one part, and writes it if there is an output.
  private static func advance(
    _ walk: inout Walk,
    _ state: FeedState,
    limit: Int,
    headBytes: Int,
    output: ByteWriter?
  ) {
    let room = limit == Int.max ? Int.max : limit - headBytes - ReloadText.objectEnd.utf8CodeUnitCount
    var size = 0
    var isFirstSection = true
    var isFull = false
    while !isFull, let section = walk.sections.peek() {
      let isContinued = walk.isContinued
      var items = walk.items ?? CurrentCursor(state.list(.items(of: section)).pointee.tree)
      // The section's own entry, with the brackets of the list if it is the first.
      let sectionCost =
        state.sizeOfSection(section, withData: !isContinued)
        + (isFirstSection
          ? ReloadText.listFrame(ReloadText.sectionsOpening) : ReloadText.comma.utf8CodeUnitCount)
      if !isFirstSection, size + sectionCost > room { break }
      size += sectionCost
      if var output {
        output.append(isFirstSection ? ReloadText.sectionsOpening : ReloadText.comma)
        state.appendSection(section, withData: !isContinued, to: &output)
      }
      var isFirstItem = true
      while let item = items.peek() {
        let cost =
          room == Int.max
          ? 0
          : state.sizeOfItem(item)
            + (isFirstItem
              ? ReloadText.listFrame(ReloadText.itemsOpening) : ReloadText.comma.utf8CodeUnitCount)
        // A part has at least one entry.
        if size + cost > room, !(isFirstSection && isFirstItem && isContinued) {
          isFull = true
          break
        }
        size += cost
        if var output {
          output.append(isFirstItem ? ReloadText.itemsOpening : ReloadText.comma)
          state.appendItem(item, to: &output)
        }
        isFirstItem = false
        items.advance()
      }
      if !isFirstItem { output?.append(ReloadText.listEnd) }
      output?.append(ReloadText.objectEnd)
      isFirstSection = false
      if isFull {
        walk.items = items
        walk.isContinued = true
      } else {
        walk.items = nil
        walk.isContinued = false
        walk.sections.advance()
      }
    }
    if !isFirstSection { output?.append(ReloadText.listEnd) }
    walk.part += 1
    walk.isFinished = !isFull && walk.sections.peek() == nil
  }
}

/// The spelling of a reload's elements.
///
/// The same code writes to a buffer and counts, and brackets are counted from their text, so that text and
/// count cannot differ.
enum ReloadText {
  static var sectionsOpening: StaticString { ",\"sections\":[" }
  static var itemsOpening: StaticString { ",\"items\":[" }
  static var comma: StaticString { "," }
  static var listEnd: StaticString { "]" }
  static var objectEnd: StaticString { "}" }

  /// The bytes of a list without its elements and the commas between them.
  @inline(__always)
  static func listFrame(_ opening: StaticString) -> Int {
    opening.utf8CodeUnitCount + listEnd.utf8CodeUnitCount
  }

  /// Appends an element without a section's items and the end of its object.
  ///
  /// - Parameter fields: none if the section continues an earlier part's.
  @inline(__always)
  static func append<Sink: ByteSink>(
    _ id: ByteSpan,
    needsEscapes: Bool,
    _ fields: ElementFields,
    to output: inout Sink
  ) {
    output.append("{\"id\":")
    output.append(quoted: id, needsEscapes: needsEscapes)
    fields.write(to: &output)
  }

  /// Bytes of an element, without a section's items.
  static func byteCount(_ id: ByteSpan, _ fields: ElementFields) -> Int {
    var counter = ByteCounter()
    counter.append("{\"id\":")
    counter.append(quoted: id)
    fields.write(to: &counter)
    counter.append(objectEnd)
    return counter.count
  }
}

extension Snapshot {
  /// The content as one changeset of mode `reload` and reason `keyframe`, from which a follower can start with this
  /// revision (protocol, section 4): JSON in UTF-8. O(n) for the n elements that are written.
  ///
  /// - Parameters:
  ///   - feed: the feed's id.
  ///   - version: the revision of the content.
  ///   - timeMilliseconds: the `time` of the revision, since 1970.
  ///   - window: the part of the feed to write; nil for everything.
  public func reload(
    of feed: String,
    version: PublishedVersion,
    timeMilliseconds: Int64,
    window: FeedWindow? = nil
  ) -> [UInt8] {
    let output = ByteWriter()
    ByteText(feed).withBytes { feed in
      let head = ChangesetHead(
        feed: feed,
        epoch: version.epoch,
        revision: version.revision,
        base: version.revision,
        mode: .reload,
        reason: .keyframe,
        time: timeMilliseconds,
        through: version.through,
        checksum: window.map { state.checksum(of: $0) } ?? checksum
      )
      if let window { return state.writeReload(of: window, head: head, to: output) }
      // A part without a limit contains everything, for any size of the head.
      var writer = ReloadWriter(state, head: head, headBytes: 0, limit: .max)
      _ = writer.writePart(to: output)
    }
    return Array(output.written.buffer)
  }
}
