/// RFC 7396 on spelled JSON.
///
/// A member whose value's bytes stay the same keeps its spelling and place; one whose bytes change
/// takes the patch's name and value in the same place; new ones are appended in the patch's order.
/// Of duplicates the last is patched and the others go; of duplicates in the patch the last counts.
public enum OracleMergePatch {
  private struct Slot {
    let name: [UInt8]
    let spelling: [UInt8]
    let value: [UInt8]
    /// What the target has there; nil for what the patch appended.
    let original: OracleJSON?
  }

  /// The bytes of `target` (nil: nothing is there yet) after `patch`.
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
