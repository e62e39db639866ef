/// Why a changeset is a difference, a reload or a keyframe: the figures that were compared. The header `feedstore.plan`
/// carries them.
///
/// A changeset that needed no comparison has no plan: one with only `reconfigure` entries, a deletion, and a reload
/// with the reason `initial`, `requested` or `disjoint`.
public enum ChangesetPlan: Sendable, Equatable {
  /// A difference, or a reload that took its place.
  case weighed(WeighedDifference)
  /// A keyframe.
  case keyframe(DueKeyframe)

  /// The name of the header.
  public static let header: StaticString = "feedstore.plan"

  /// The greatest length of the header's value, in bytes: twelve numbers of at most 24 characters, and their names.
  public static let greatestByteCount = 512

  /// Appends the header's value, an object of numbers.
  package func write(to output: ByteWriter) {
    var separator: StaticString = "{"
    func append(_ name: StaticString) {
      output.append(separator)
      output.append(UInt8(ascii: "\""))
      output.append(name)
      output.append("\":")
      separator = ","
    }
    func figure(_ name: StaticString, _ number: Int) {
      append(name)
      output.append(decimal: number)
    }
    func threshold(_ name: StaticString, _ number: Double) {
      append(name)
      output.append(string: Self.text(number))
    }
    switch self {
    case .weighed(let weighed):
      figure("weight", weighed.weight)
      figure("itemsBefore", weighed.itemsBefore)
      figure("itemsAfter", weighed.itemsAfter)
      figure("changedKinds", weighed.changedKinds)
      figure("differenceBytes", weighed.differenceBytes)
      figure("reloadBytes", weighed.reloadBytes)
      figure("maxChanges", weighed.thresholds.maxChanges)
      threshold("maxChangedFraction", weighed.thresholds.maxChangedFraction)
      figure("minimumItems", weighed.thresholds.minimumItems)
      threshold("maxKindFraction", weighed.thresholds.maxKindFraction)
      threshold("maxReloadRatio", weighed.thresholds.maxReloadRatio)
      threshold("maxBytesRatio", weighed.thresholds.maxBytesRatio)
    case .keyframe(let due):
      figure("deltas", due.deltas)
      figure("deltaBytes", due.deltaBytes)
      figure("lastReloadBytes", due.lastReloadBytes)
      figure("keyframeBytes", due.keyframeBytes)
      figure("maxDeltas", due.policy.maxDeltas)
      threshold("maxBytesRatio", due.policy.maxBytesRatio)
    }
    output.append(UInt8(ascii: "}"))
  }

  /// A threshold in the fewest digits that are read back as the same number; whole ones without a fraction.
  package static func text(_ number: Double) -> String {
    let text = number.description
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  /// The header's value as text.
  public var text: String {
    let output = ByteWriter(capacity: 256)
    write(to: output)
    return String(decoding: output.written.buffer, as: UTF8.self)
  }
}
