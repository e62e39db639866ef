/// JSON merge patch (RFC 7396) on text, keeping what is not changed as it was spelled.
///
/// Unchanged members keep their place, name and value; a replaced one takes the patch's spelling;
/// new ones are appended in the patch's order. Of duplicate members the last is patched and the
/// others go; of duplicates in the patch the last counts.
struct MergePatch {
  private var members: [JSONScanner.Member] = []
  private let arena = ScratchArena(capacity: 1024)

  /// Appends the result of patching `target` to `output`. Both are valid and without white space.
  mutating func apply(_ patch: ByteSpan, to target: ByteSpan, into output: ByteWriter) {
    members.removeAll(keepingCapacity: members.capacity < 1 << 16)
    merge(patch, into: target, output)
    arena.reset()
  }

  private static let emptyObject = ByteSpan("{}" as StaticString)

  private mutating func merge(_ patch: ByteSpan, into target: ByteSpan, _ output: ByteWriter) {
    guard patch[0] == UInt8(ascii: "{") else { return output.append(patch) }
    let target = target[0] == UInt8(ascii: "{") ? target : MergePatch.emptyObject

    // Both sides' members lie one after the other on a stack that the nested objects share.
    let patchStart = members.count
    JSONScanner(text: patch).appendMembers(to: &members, arena: arena)
    let targetStart = members.count
    JSONScanner(text: target).appendMembers(to: &members, arena: arena)
    let end = members.count
    defer { members.removeLast(members.count - patchStart) }
    matchMembers(patchStart, targetStart, end)

    output.append(UInt8(ascii: "{"))
    let start = output.count
    for position in targetStart..<end {
      let member = members[position]
      guard member.match >= 0 else {
        appendMember(member.name, start, output)
        output.append(member.value)
        continue
      }
      let replacement = members[Int(member.match)]
      // The last of duplicates is the one that is matched both ways.
      guard replacement.match == Int32(position), !replacement.value.matches("null") else { continue }
      if replacement.value[0] == UInt8(ascii: "{") {
        mergeMember(member, replacement, start, output)
      } else {
        let isSame = replacement.value.hasSameBytes(as: member.value)
        appendMember(isSame ? member.name : replacement.name, start, output)
        output.append(replacement.value)
      }
    }
    for position in patchStart..<targetStart {
      let member = members[position]
      guard member.match == -1, !member.value.matches("null") else { continue }
      appendMember(member.name, start, output)
      merge(member.value, into: MergePatch.emptyObject, output)
    }
    output.append(UInt8(ascii: "}"))
  }

  /// Merges into a member's value; the name is spelled as in the patch if that changes the value.
  private mutating func mergeMember(
    _ member: JSONScanner.Member,
    _ replacement: JSONScanner.Member,
    _ start: Int,
    _ output: ByteWriter
  ) {
    appendMember(member.name, start, output)
    let valueStart = output.count
    merge(replacement.value, into: member.value, output)
    guard !member.name.hasSameBytes(as: replacement.name),
      !output.span(valueStart..<output.count).hasSameBytes(as: member.value)
    else { return }
    // Exchanged in place: merging once more would double the work at every level.
    let nameEnd = valueStart - 2
    output.replace(nameEnd - member.name.count..<nameEnd, with: replacement.name)
  }

  private func appendMember(_ name: ByteSpan, _ start: Int, _ output: ByteWriter) {
    if output.count > start { output.append(UInt8(ascii: ",")) }
    output.append(UInt8(ascii: "\""))
    output.append(name)
    output.append("\":")
  }

  /// Notes for each target member the patch member of its name, and for each patch member the last
  /// target member of its name. Patch members followed by another of their name get -2.
  private mutating func matchMembers(_ patchStart: Int, _ targetStart: Int, _ end: Int) {
    if targetStart - patchStart <= 12 {
      for position in patchStart..<targetStart {
        for earlier in patchStart..<position where hasSameName(members[earlier], members[position]) {
          members[earlier].match = -2
        }
      }
      for position in targetStart..<end {
        for candidate in patchStart..<targetStart
        where members[candidate].match != -2 && hasSameName(members[candidate], members[position]) {
          members[position].match = Int32(candidate)
          members[candidate].match = Int32(position)
        }
      }
      return
    }
    var index = HashIndex(capacity: targetStart - patchStart)
    for position in patchStart..<targetStart {
      let hash = nameHash(members[position])
      if let earlier = index.find(hash, where: { hasSameName(members[Int($0)], members[position]) }) {
        members[Int(earlier)].match = -2
        index.remove(hash, earlier)
      }
      index.insert(hash, UInt32(position))
    }
    for position in targetStart..<end {
      let hash = nameHash(members[position])
      guard let found = index.find(hash, where: { hasSameName(members[Int($0)], members[position]) }) else {
        continue
      }
      members[position].match = Int32(found)
      members[Int(found)].match = Int32(position)
    }
  }

  private func hasSameName(_ one: JSONScanner.Member, _ other: JSONScanner.Member) -> Bool {
    one.decodedName.hasSameBytes(as: other.decodedName)
  }

  private func nameHash(_ member: JSONScanner.Member) -> UInt32 { ByteHash.of(member.decodedName) }
}
