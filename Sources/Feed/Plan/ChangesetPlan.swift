/// Why a changeset is a difference, a reload or a keyframe: the figures that were compared. The header `feedstore.plan`
/// carries them.
///
/// A changeset that needed no comparison has no plan: one with only `reconfigure` entries, a deletion, and a reload
/// with the reason `initial`, `requested` or `disjoint`.
public enum ChangesetPlan: Sendable, Equatable {
  /// A difference, or a reload that replaced it.
  case weighed(WeighedDifference)
  /// A keyframe.
  case keyframe(DueKeyframe)

  /// The name of the header.
  public static let header: StaticString = "feedstore.plan"

  /// The greatest length of the header's value, in bytes: twelve numbers of at most 24 characters, and their names.
  public static let greatestByteCount = 512

  /// Appends the header's value, an object of numbers.
  package func write(to output: ByteWriter) {
    switch self {
    case .weighed(let weighed): Self.write(weighed, to: output)
    case .keyframe(let due): Self.write(due, to: output)
    }
  }

  private static func write(_ figures: some PlanFigures, to output: ByteWriter) {
    var figures = figures
    var separator: StaticString = "{"
    func append(_ name: StaticString) {
      output.append(separator)
      output.append(UInt8(ascii: "\""))
      output.append(name)
      output.append("\":")
      separator = ","
    }
    figures.forEachFigure { name, number in
      append(name)
      output.append(decimal: number)
    } ratio: { name, number in
      append(name)
      output.append(string: text(number))
    }
    output.append(UInt8(ascii: "}"))
  }

  /// A threshold in the fewest digits that represent the same number; whole numbers without a fraction.
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
  /// Nil if the value is not a plan: not JSON, too long, or incomplete. A plan only explains a changeset, so
  /// followers ignore such a header.
  public init?(_ value: ByteSpan, indexer: JSONIndexer) {
    guard value.count <= ChangesetPlan.greatestByteCount, let text = try? indexer.validated(value),
      text.character(0) == UInt8(ascii: "{")
    else { return nil }
    var members: [String: String] = [:]
    let arena = ScratchArena()
    text.forEachMember(of: 0, arena: arena) { name, value in
      members[name.text] = text.span(from: value.first, to: value.end).text
    }
    if let weighed = WeighedDifference(members) {
      self = .weighed(weighed)
    } else if let due = DueKeyframe(members) {
      self = .keyframe(due)
    } else {
      return nil
    }
  }
}

/// The figures of one kind of plan.
private protocol PlanFigures {
  init()

  /// Calls one of the closures with each figure and its name, in the order of the header.
  mutating func forEachFigure(
    count: (StaticString, inout Int) -> Void,
    ratio: (StaticString, inout Double) -> Void
  )
}

extension PlanFigures {
  /// - Parameter members: the header's members, in their spelling; nil results if one is missing.
  init?(_ members: [String: String]) {
    self.init()
    var isComplete = true
    forEachFigure { name, number in
      let given = members["\(name)"].flatMap { Int($0) } ?? -1
      if given >= 0 { number = given } else { isComplete = false }
    } ratio: { name, number in
      let given = members["\(name)"].flatMap { Double($0) } ?? -1
      if given >= 0, given.isFinite { number = given } else { isComplete = false }
    }
    if !isComplete { return nil }
  }
}

extension WeighedDifference: PlanFigures {
  mutating func forEachFigure(
    count: (StaticString, inout Int) -> Void,
    ratio: (StaticString, inout Double) -> Void
  ) {
    count("weight", &weight)
    count("itemsBefore", &itemsBefore)
    count("itemsAfter", &itemsAfter)
    count("changedKinds", &changedKinds)
    count("differenceBytes", &differenceBytes)
    count("reloadBytes", &reloadBytes)
    thresholds.forEachFigure(count: count, ratio: ratio)
  }
}

extension DueKeyframe: PlanFigures {
  mutating func forEachFigure(
    count: (StaticString, inout Int) -> Void,
    ratio: (StaticString, inout Double) -> Void
  ) {
    count("deltas", &deltas)
    count("deltaBytes", &deltaBytes)
    count("lastReloadBytes", &lastReloadBytes)
    count("keyframeBytes", &keyframeBytes)
    policy.forEachFigure(count: count, ratio: ratio)
  }
}
