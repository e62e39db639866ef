/// JSON merge patch (RFC 7396) on text, which keeps the spelling of unchanged members.
///
/// Unchanged members keep their place, name and value; a replaced one takes the patch's spelling; new ones
/// are appended in the patch's order. Of duplicate members the last is patched and the others are removed; of
/// duplicates in the patch the last counts.
///
/// Each text is scanned once, whatever its depth: the patch into a tree, then the target into a list of
/// edits. Whether a nested object changes is known when its end is reached; only then is anything written.
/// Nothing is recursive, and memory is needed only for members that the patch names.
struct MergePatch: ~Copyable {
  /// A change of a member of the target that the patch names.
  struct Edit {
    /// The offset of the member's name in the target, with its quote.
    let start: UInt32
    /// The offset of its value.
    let valueStart: UInt32
    /// The offset after its value.
    fileprivate(set) var end: UInt32
    /// The number of the edit after those inside the value.
    fileprivate(set) var next: Int32
    /// The number of the patch's member.
    let member: Int32
    /// Whether both values are objects.
    let isMerge: Bool
    /// Whether the value is replaced or removed.
    fileprivate(set) var isChange: Bool
  }

  /// A comparison of an object of the target with one of the patch.
  private struct Comparison {
    /// The number of the patch's object.
    let object: Int
    /// The number of the first edit inside.
    let firstEdit: Int
    /// The number of the patch's member that is probably next.
    var expected: Int
    /// The number of the patch's members that set an existing member.
    var setCount = 0
    var hasChanges = false
  }

  var tree = PatchTree()
  private(set) var edits: [Edit] = []
  private var outerComparisons: [Comparison] = []
  var outerObjects: [WrittenObject] = []
  private let arena = ScratchArena(capacity: 1024)

  /// The cost of the latest patch: bytes scanned, names compared and edits made, without copying the result.
  private(set) var steps = 0

  private static let emptyObject = ByteSpan("{}" as StaticString)
  private static let usualCapacity = 1 << 16

  /// Appends the result of patching `target` to `output`. Both are valid and without white space.
  mutating func apply(_ patch: ByteSpan, to target: ByteSpan, into output: ByteWriter) {
    guard patch[0] == UInt8(ascii: "{") else { return output.append(patch) }
    let isObject = target[0] == UInt8(ascii: "{")
    tree.read(patch, arena: arena)
    let hasChanges = findEdits(in: isObject ? target : MergePatch.emptyObject)
    if hasChanges {
      write(isObject ? target : MergePatch.emptyObject, output)
    } else {
      output.append(isObject ? target : MergePatch.emptyObject)
    }
    arena.reset()
  }

  /// Compares an object with the patch.
  ///
  /// - Returns: whether the object changes.
  private mutating func findEdits(in target: ByteSpan) -> Bool {
    edits.removeAll(keepingCapacity: edits.capacity <= MergePatch.usualCapacity)
    outerComparisons.removeAll(keepingCapacity: outerComparisons.capacity <= MergePatch.usualCapacity)
    let hasEscapes = target.contains(UInt8(ascii: "\\"))
    var scanner = JSONScanner(target)
    var comparison = Comparison(object: 0, firstEdit: 0, expected: 0)
    var at = 1
    while true {
      if target[at] == UInt8(ascii: "}") {
        at += 1
        // A member of the patch that sets none of the target's is appended.
        let isChange =
          comparison.hasChanges || comparison.setCount < tree.objects[comparison.object].resultCount
        guard let outer = outerComparisons.popLast() else {
          steps = scanner.scannedBytes + tree.steps + edits.count
          return isChange
        }
        let edit = comparison.firstEdit - 1
        edits[edit].end = UInt32(at)
        edits[edit].next = Int32(edits.count)
        edits[edit].isChange = isChange
        comparison = outer
        if isChange { comparison.hasChanges = true }
      } else {
        let start = at
        let valueStart = scanner.endOfString(start) + 1
        let name = ByteSpan(target.base + start + 1, valueStart - start - 3)
        let found =
          hasEscapes
          ? findUnescaped(name, comparison)
          : tree.find(name, in: comparison.object, expected: comparison.expected)
        guard let found else {
          at = scanner.endOfValue(valueStart)
          if target[at] == UInt8(ascii: ",") { at += 1 }
          continue
        }
        let member = tree.members[found]
        comparison.expected = Int(member.next)
        if Int(member.edit) >= comparison.firstEdit {
          // The earlier duplicate is removed.
          comparison.hasChanges = true
        } else if !member.isNull {
          comparison.setCount += 1
        }
        tree.setEdit(edits.count, of: found)
        let isMerge = member.object >= 0 && target[valueStart] == UInt8(ascii: "{")
        at = isMerge ? valueStart + 1 : scanner.endOfValue(valueStart)
        let isChange = !isMerge && isChanged(by: member, ByteSpan(target.base + valueStart, at - valueStart))
        if isChange { comparison.hasChanges = true }
        edits.append(
          Edit(
            start: UInt32(start),
            valueStart: UInt32(valueStart),
            end: UInt32(at),
            next: Int32(edits.count + 1),
            member: Int32(found),
            isMerge: isMerge,
            isChange: isChange
          )
        )
        if isMerge {
          outerComparisons.append(comparison)
          let inner = Int(member.object)
          comparison = Comparison(
            object: inner,
            firstEdit: edits.count,
            expected: tree.objects[inner].first
          )
          continue
        }
      }
      if target[at] == UInt8(ascii: ",") { at += 1 }
    }
  }

  private mutating func findUnescaped(_ name: ByteSpan, _ comparison: Comparison) -> Int? {
    guard name.contains(UInt8(ascii: "\\")) else {
      return tree.find(name, in: comparison.object, expected: comparison.expected)
    }
    let copy = arena.allocate(name.count)
    defer { arena.giveBack(name.count) }
    let unescaped = ByteSpan(UnsafePointer(copy), JSONString.unescape(name, into: copy))
    return tree.find(unescaped, in: comparison.object, expected: comparison.expected)
  }

  /// Whether a value that is not merged is replaced or removed.
  private func isChanged(by member: PatchTree.Member, _ value: ByteSpan) -> Bool {
    if member.isNull || member.object >= 0 { return true }
    let start = Int(member.valueStart)
    return !ByteSpan(tree.text.base + start, Int(member.end) - start).hasSameBytes(as: value)
  }
}

extension MergePatch {
  /// An object of the result, partly written.
  struct WrittenObject {
    /// The remaining edits of the target's object, and the number of the first of all.
    var edits: Range<Int>
    let firstEdit: Int
    /// The part of the target's object that is not copied or left out yet.
    var rest: Range<Int>
    /// The members of the patch's object that may have to be appended.
    var additions: Range<Int>
    var isEmpty = true
  }

  /// Writes the target, an object, with the edits.
  mutating func write(_ target: ByteSpan, _ output: ByteWriter) {
    var object = written(0, edits: 0..<edits.count, rest: 1..<target.count - 1)
    output.append(UInt8(ascii: "{"))
    while true {
      if let inner = makeEdits(&object, target, output) ?? makeAdditions(&object, output) {
        outerObjects.append(object)
        object = inner
        output.append(UInt8(ascii: "{"))
        continue
      }
      output.append(UInt8(ascii: "}"))
      guard let outer = outerObjects.popLast() else { break }
      object = outer
    }
    if outerObjects.capacity > 1 << 12 { outerObjects = [] }
  }

  /// Copies the rest of the target's object, with its edits.
  ///
  /// - Returns: an object to write first.
  private func makeEdits(
    _ object: inout WrittenObject,
    _ target: ByteSpan,
    _ output: ByteWriter
  ) -> WrittenObject? {
    while let number = object.edits.first {
      let edit = edits[number]
      let (start, end) = (Int(edit.start), Int(edit.end))
      let member = tree.members[Int(edit.member)]
      object.edits = Int(edit.next)..<object.edits.upperBound
      // The patch's member refers to the last of duplicates.
      let isLast = Int(member.edit) == number
      if isLast, !edit.isChange { continue }
      // Without the comma before this member, and the one after it.
      append(target, from: object.rest.lowerBound, to: start - 1, &object, output)
      object.rest = min(end + 1, object.rest.upperBound)..<object.rest.upperBound
      guard isLast, !member.isNull else { continue }
      if edit.isMerge {
        appendName(of: member, &object, output)
        return written(
          Int(member.object),
          edits: number + 1..<Int(edit.next),
          rest: Int(edit.valueStart) + 1..<end - 1
        )
      }
      if let inner = set(member, &object, output) { return inner }
    }
    append(target, from: object.rest.lowerBound, to: object.rest.upperBound, &object, output)
    object.rest = object.rest.upperBound..<object.rest.upperBound
    return nil
  }

  /// Appends the patch's members that are not in the target's object.
  ///
  /// - Returns: an object to write first.
  private func makeAdditions(_ object: inout WrittenObject, _ output: ByteWriter) -> WrittenObject? {
    while let number = object.additions.first {
      let member = tree.members[number]
      object.additions = Int(member.next)..<object.additions.upperBound
      // An edit in an earlier, removed duplicate of this object does not count.
      if member.isSuperseded || member.isNull || Int(member.edit) >= object.firstEdit { continue }
      if let inner = set(member, &object, output) { return inner }
    }
    return nil
  }

  /// Writes a member in the patch's spelling.
  ///
  /// - Returns: the member's value if parts of it must not be written.
  private func set(
    _ member: PatchTree.Member,
    _ object: inout WrittenObject,
    _ output: ByteWriter
  ) -> WrittenObject? {
    if member.object >= 0, !tree.objects[Int(member.object)].isPlain {
      appendName(of: member, &object, output)
      // The target has no such object: all of the patch's members are additions.
      return written(Int(member.object), edits: .max ..< .max, rest: 0..<0)
    }
    append(tree.text, from: Int(member.start), to: Int(member.end), &object, output)
    return nil
  }

  private func appendName(
    of member: PatchTree.Member,
    _ object: inout WrittenObject,
    _ output: ByteWriter
  ) {
    append(tree.text, from: Int(member.start), to: Int(member.valueStart), &object, output)
  }

  /// Appends a range with members, or the start of one, after a comma if others precede it; nothing if empty.
  private func append(
    _ text: ByteSpan,
    from start: Int,
    to end: Int,
    _ object: inout WrittenObject,
    _ output: ByteWriter
  ) {
    guard start < end else { return }
    if !object.isEmpty { output.append(UInt8(ascii: ",")) }
    object.isEmpty = false
    output.append(ByteSpan(text.base + start, end - start))
  }

  private func written(_ number: Int, edits: Range<Int>, rest: Range<Int>) -> WrittenObject {
    let object = tree.objects[number]
    return WrittenObject(
      edits: edits,
      firstEdit: edits.lowerBound,
      rest: rest,
      additions: object.first..<object.end
    )
  }
}
