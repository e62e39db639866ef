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
    guard case .object(let changes) = patch.content else { return patch.minified }
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
      if changes[(number + 1)...].contains(where: { $0.name == change.name }) { continue }
      apply(change, to: &slots)
    }
    let members = slots.map { $0.spelling + Array(":".utf8) + $0.value }
    return Array("{".utf8) + Array(members.joined(separator: Array(",".utf8))) + Array("}".utf8)
  }

  private static func apply(_ change: OracleJSONMember, to slots: inout [Slot]) {
    let present = slots.indices.filter { slots[$0].name == change.name }
    if change.value.content == .null {
      slots.removeAll { $0.name == change.name }
      return
    }
    guard let place = present.last else {
      let value = merge(change.value, into: nil)
      slots.append(Slot(name: change.name, spelling: change.rawName, value: value, original: nil))
      return
    }
    let value = merge(change.value, into: slots[place].original)
    if value != slots[place].value {
      slots[place] = Slot(name: change.name, spelling: change.rawName, value: value, original: nil)
    }
    for extra in present.dropLast().reversed() { slots.remove(at: extra) }
  }
}
