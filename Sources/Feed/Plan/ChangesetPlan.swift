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

extension ChangesetPlan {
  /// Reads the header's value. Unknown members are ignored.
  ///
  /// Nil if the value is not a plan: not JSON, too long, or without one of the figures. A plan only explains a
  /// changeset, so followers ignore such a header.
  public init?(_ value: ByteSpan, indexer: JSONIndexer) {
    guard value.count <= ChangesetPlan.greatestByteCount, let text = try? indexer.validated(value),
      text.character(0) == UInt8(ascii: "{")
    else { return nil }
    var figures = Figures()
    let arena = ScratchArena()
    text.forEachMember(of: 0, arena: arena) { name, value in
      figures.numbers[name.text] = text.span(from: value.first, to: value.end).text
    }
    guard let plan = figures.weighed ?? figures.keyframe else { return nil }
    self = plan
  }

  /// The members of the object, as they are spelled.
  private struct Figures {
    var numbers: [String: String] = [:]

    func integer(_ name: String) -> Int? {
      numbers[name].flatMap { Int($0) }.flatMap { $0 < 0 ? nil : $0 }
    }

    func threshold(_ name: String) -> Double? {
      numbers[name].flatMap { Double($0) }.flatMap { $0 >= 0 && $0.isFinite ? $0 : nil }
    }

    var weighed: ChangesetPlan? {
      var thresholds = PlannerThresholds()
      guard let weight = integer("weight"), let itemsBefore = integer("itemsBefore"),
        let itemsAfter = integer("itemsAfter"), let changedKinds = integer("changedKinds"),
        let differenceBytes = integer("differenceBytes"), let reloadBytes = integer("reloadBytes"),
        let maxChanges = integer("maxChanges"), let minimumItems = integer("minimumItems"),
        let maxChangedFraction = threshold("maxChangedFraction"),
        let maxKindFraction = threshold("maxKindFraction"),
        let maxReloadRatio = threshold("maxReloadRatio"), let maxBytesRatio = threshold("maxBytesRatio")
      else { return nil }
      thresholds.maxChanges = maxChanges
      thresholds.maxChangedFraction = maxChangedFraction
      thresholds.minimumItems = minimumItems
      thresholds.maxKindFraction = maxKindFraction
      thresholds.maxReloadRatio = maxReloadRatio
      thresholds.maxBytesRatio = maxBytesRatio
      return .weighed(
        WeighedDifference(
          weight: weight,
          itemsBefore: itemsBefore,
          itemsAfter: itemsAfter,
          changedKinds: changedKinds,
          differenceBytes: differenceBytes,
          reloadBytes: reloadBytes,
          thresholds: thresholds
        )
      )
    }

    var keyframe: ChangesetPlan? {
      var policy = KeyframePolicy()
      guard let deltas = integer("deltas"), let deltaBytes = integer("deltaBytes"),
        let lastReloadBytes = integer("lastReloadBytes"), let keyframeBytes = integer("keyframeBytes"),
        let maxDeltas = integer("maxDeltas"), let maxBytesRatio = threshold("maxBytesRatio")
      else { return nil }
      policy.maxDeltas = maxDeltas
      policy.maxBytesRatio = maxBytesRatio
      return .keyframe(
        DueKeyframe(
          deltas: deltas,
          deltaBytes: deltaBytes,
          lastReloadBytes: lastReloadBytes,
          keyframeBytes: keyframeBytes,
          policy: policy
        )
      )
    }
  }
}
