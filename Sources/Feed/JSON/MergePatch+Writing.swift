extension MergePatch {
  /// An object of the result that is being written.
  struct WrittenObject {
    /// The edits of the target's object that are still to be made, and the number of the first of all.
    var edits: Range<Int>
    let firstEdit: Int
    /// What of the target's object is still to be copied or left out.
    var rest: Range<Int>
    /// The members of the patch's object that may have to be appended.
    var additions: Range<Int>
    var isEmpty = true
  }

  /// Writes the target, an object, with the edits made.
  mutating func write(_ target: ByteSpan, _ output: ByteWriter) {
    var object = merged(0, edits: 0..<edits.count, rest: 1..<target.count - 1)
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

  /// Copies what is left of the target's object, with its edits.
  ///
  /// - Returns: an object to write before the rest.
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
      // Of duplicates the patch's member knows the last.
      let isLast = Int(member.edit) == number
      if isLast, !edit.isChange { continue }
      // Without the comma before this member, and the one after it.
      append(target, from: object.rest.lowerBound, to: start - 1, &object, output)
      object.rest = min(end + 1, object.rest.upperBound)..<object.rest.upperBound
      guard isLast, !member.isNull else { continue }
      if edit.isMerge {
        appendName(of: member, &object, output)
        return merged(
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
  /// - Returns: an object to write before the rest.
  private func makeAdditions(_ object: inout WrittenObject, _ output: ByteWriter) -> WrittenObject? {
    while let number = object.additions.first {
      let member = tree.members[number]
      object.additions = Int(member.next)..<object.additions.upperBound
      // An edit of an object before this one, which goes as it is a duplicate, does not count.
      if member.isSuperseded || member.isNull || Int(member.edit) >= object.firstEdit { continue }
      if let inner = set(member, &object, output) { return inner }
    }
    return nil
  }

  /// Writes a member as it is in the patch.
  ///
  /// - Returns: the member's value if it has parts that must not be written.
  private func set(
    _ member: PatchTree.Member,
    _ object: inout WrittenObject,
    _ output: ByteWriter
  ) -> WrittenObject? {
    if member.object >= 0, !tree.objects[Int(member.object)].isPlain {
      appendName(of: member, &object, output)
      return new(Int(member.object))
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

  /// Appends members, or the beginning of one, after a comma if there are others; nothing if the end is not after the
  /// start.
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

  private func merged(_ number: Int, edits: Range<Int>, rest: Range<Int>) -> WrittenObject {
    let object = tree.objects[number]
    return WrittenObject(
      edits: edits,
      firstEdit: edits.lowerBound,
      rest: rest,
      additions: object.first..<object.end
    )
  }

  /// An object of the patch where the target has none.
  private func new(_ number: Int) -> WrittenObject {
    let object = tree.objects[number]
    return WrittenObject(
      edits: 0..<0,
      firstEdit: .max,
      rest: 0..<0,
      additions: object.first..<object.end
    )
  }
}
