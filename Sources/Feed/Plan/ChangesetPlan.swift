/// Why a changeset was published as it was: the figures that were compared, which the header `feedstore.plan` carries.
///
/// A changeset about which nothing had to be compared has none: one of `reconfigure` entries alone, a deletion, and a
/// reload with the reason `initial`, `requested` or `disjoint`.
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
  func write(to output: ByteWriter) {
    switch self {
    case .weighed(let weighed):
      output.append("{\"weight\":")
      output.append(decimal: weighed.weight)
      output.append(",\"itemsBefore\":")
      output.append(decimal: weighed.itemsBefore)
      output.append(",\"itemsAfter\":")
      output.append(decimal: weighed.itemsAfter)
      output.append(",\"changedKinds\":")
      output.append(decimal: weighed.changedKinds)
      output.append(",\"differenceBytes\":")
      output.append(decimal: weighed.differenceBytes)
      output.append(",\"reloadBytes\":")
      output.append(decimal: weighed.reloadBytes)
      output.append(",\"maxChanges\":")
      output.append(decimal: weighed.thresholds.maxChanges)
      output.append(",\"maxChangedFraction\":")
      output.append(string: Self.text(weighed.thresholds.maxChangedFraction))
      output.append(",\"minimumItems\":")
      output.append(decimal: weighed.thresholds.minimumItems)
      output.append(",\"maxKindFraction\":")
      output.append(string: Self.text(weighed.thresholds.maxKindFraction))
      output.append(",\"maxReloadRatio\":")
      output.append(string: Self.text(weighed.thresholds.maxReloadRatio))
      output.append(",\"maxBytesRatio\":")
      output.append(string: Self.text(weighed.thresholds.maxBytesRatio))
    case .keyframe(let due):
      output.append("{\"deltas\":")
      output.append(decimal: due.deltas)
      output.append(",\"deltaBytes\":")
      output.append(decimal: due.deltaBytes)
      output.append(",\"lastReloadBytes\":")
      output.append(decimal: due.lastReloadBytes)
      output.append(",\"keyframeBytes\":")
      output.append(decimal: due.keyframeBytes)
      output.append(",\"maxDeltas\":")
      output.append(decimal: due.policy.maxDeltas)
      output.append(",\"maxBytesRatio\":")
      output.append(string: Self.text(due.policy.maxBytesRatio))
    }
    output.append(UInt8(ascii: "}"))
  }

  /// A threshold in the fewest digits that are read back as the same number; whole ones without a fraction.
  static func text(_ number: Double) -> String {
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
