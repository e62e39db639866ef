/// RFC 7396 on JSON with its spelling.
///
/// A member whose value's bytes do not change keeps its spelling and place. One whose bytes change takes the patch's
/// name and value, in the same place. New members are appended in the patch's order. Of duplicates in the target, the
/// last one is patched, and the others are removed. Of duplicates in the patch, the last one counts.
public enum OracleMergePatch {
  private struct Slot {
    let name: [UInt8]
    let spelling: [UInt8]
    let value: [UInt8]
    /// The target's member; nil for members that the patch appends.
    let original: OracleJSON?
  }

  /// The bytes of `target`, nil for none, after `patch`.
  public static func merge(_ patch: OracleJSON, into target: OracleJSON?) -> [UInt8] {
    guard case .object(let changes) = patch.content else {
      return keeps(.patchOfScalar) ? patch.minified : target?.minified ?? patch.minified
    }
    var slots: [Slot] = []
    if case .object(let members)? = target?.content {
      slots = members.map { member in
        Slot(
          name: member.name,
          spelling: member.rawName,
          value: member.value.minified,
          original: member.value
        )
      }
    }
    for (number, change) in changes.enumerated() {
      let isRepeated =
        keeps(.patchLastCounts)
        ? changes[(number + 1)...].contains { $0.name == change.name }
        : changes[..<number].contains { $0.name == change.name }
      if isRepeated { continue }
      apply(change, to: &slots)
    }
    let members = slots.map { $0.spelling + Array(":".utf8) + $0.value }
    return Array("{".utf8) + Array(members.joined(separator: Array(",".utf8))) + Array("}".utf8)
  }

  private static func apply(_ change: OracleJSONMember, to slots: inout [Slot]) {
    let present = slots.indices.filter { slots[$0].name == change.name }
    if change.value.content == .null, keeps(.patchNullRemoves) {
      slots.removeAll { $0.name == change.name }
      return
    }
    guard let place = present.last else {
      let value = keeps(.patchDropsNulls) ? merge(change.value, into: nil) : change.value.minified
      let slot = Slot(name: change.name, spelling: change.rawName, value: value, original: nil)
      slots.insert(slot, at: keeps(.patchAppends) ? slots.count : 0)
      return
    }
    let value = keeps(.patchNests) ? merge(change.value, into: slots[place].original) : change.value.minified
    if value != slots[place].value || !keeps(.patchKeepsSpelling) {
      let spelling = keeps(.patchTakesSpelling) ? change.rawName : slots[place].spelling
      if !keeps(.patchReplaces) { return }
      slots[place] = Slot(name: change.name, spelling: spelling, value: value, original: nil)
      if !keeps(.patchKeepsOrder) { slots.append(slots.remove(at: place)) }
    }
    if !keeps(.patchRemovesRepeats) { return }
    for extra in present.dropLast().reversed() { slots.remove(at: extra) }
  }
}
