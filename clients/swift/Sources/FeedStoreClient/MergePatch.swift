/// The result of a merge patch (RFC 7396), with exactly the bytes that chapter 2.6 of the protocol defines.
func mergePatched(_ target: JSONText?, _ patch: JSONText) -> String {
  guard let patchMembers = patch.members else { return patch.compactText }
  func key(_ name: JSONText) -> [UInt8] { Array((name.string ?? "").utf8) }
  // Of a name that occurs twice, the last one counts.
  var patches: [[UInt8]: Int] = [:]
  for (index, member) in patchMembers.enumerated() { patches[key(member.name)] = index }
  let members = target?.members ?? []
  var lasts: [[UInt8]: Int] = [:]
  for (index, member) in members.enumerated() { lasts[key(member.name)] = index }

  var result: [String] = []
  for (index, (name, value)) in members.enumerated() {
    guard let found = patches[key(name)] else {
      result.append("\(name.text):\(value.compactText)")
      continue
    }
    let (newName, newValue) = patchMembers[found]
    guard lasts[key(name)] == index, !newValue.isNull else { continue }
    let (before, after) = (value.compactText, mergePatched(value, newValue))
    result.append(haveSameBytes(before, after) ? "\(name.text):\(before)" : "\(newName.text):\(after)")
  }
  for (index, (name, value)) in patchMembers.enumerated() {
    guard patches[key(name)] == index, lasts[key(name)] == nil, !value.isNull else { continue }
    result.append("\(name.text):\(mergePatched(nil, value))")
  }
  return "{\(result.joined(separator: ","))}"
}
