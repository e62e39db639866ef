import Feed

/// Checks the headers of changeset records against the protocol, section 5.4, in its order.
final class HeaderCheck {
  private static let names: [StaticString] = [
    "content-type", "ce_specversion", "ce_type", "ce_source", "ce_id", "ce_subject", "ce_time",
    "ce_sequence",
  ]
  private let source: [UInt8]
  private let requiresPlans: Bool
  private let expected = ByteWriter(capacity: 1024)
  private let indexer = JSONIndexer()

  init(_ options: VerificationOptions) {
    source = Array(options.output.source.utf8)
    requiresPlans = options.requiresPlans
  }

  /// Checks all headers except the plan.
  func check(_ headers: [ByteSpan?], _ form: ChangesetForm) throws(Violation) {
    for (number, name) in HeaderCheck.names.enumerated() {
      try require(number * 2 < headers.count) { "the header \(quoted(name)) is missing" }
      guard let found = headers[number * 2], found.matches(name) else {
        throw Violation(
          "header \(number) is \(HeaderCheck.words(headers[number * 2])), expected \(quoted(name))"
        )
      }
      write(name, form)
      let value = number * 2 + 1 < headers.count ? headers[number * 2 + 1] : nil
      guard let value, value.hasSameBytes(as: expected.written) else {
        throw Violation(
          "the header \(quoted(name)) is \(HeaderCheck.words(value)), "
            + "expected \(expected.written.quotedForMessage())"
        )
      }
    }
  }

  /// The plan in the header `feedstore.plan`; nil if the header is missing or unreadable.
  func plan(_ headers: [ByteSpan?]) -> ChangesetPlan? {
    let rest = HeaderCheck.optional(headers)
    guard rest.count > 1, rest.first??.matches(ChangesetPlan.header) == true else { return nil }
    return rest.dropFirst().first.flatMap { $0 }.flatMap { ChangesetPlan($0, indexer: indexer) }
  }

  /// The headers that not all changesets have, without the positions in the contents topic, which come last.
  private static func optional(_ headers: [ByteSpan?]) -> ArraySlice<ByteSpan?> {
    headers.dropFirst(names.count * 2).dropLast(hasContents(headers) ? 2 : 0)
  }

  /// Whether the last header is `feedstore.contents`.
  static func hasContents(_ headers: [ByteSpan?]) -> Bool {
    headers.count > names.count * 2 + 1 && headers[headers.count - 2]?.matches("feedstore.contents") == true
  }

  /// The offsets in the header `feedstore.contents`, by partition; nil if it has another form.
  static func contentsOffsets(_ header: ByteSpan) -> [Int32: Int64]? {
    let text = header.text
    guard text.hasPrefix("{\""), text.hasSuffix("}") else { return nil }
    var offsets: [Int32: Int64] = [:]
    for member in text.dropFirst().dropLast().split(separator: ",", omittingEmptySubsequences: false) {
      let parts = member.split(separator: ":", omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0].hasPrefix("\""), parts[0].hasSuffix("\""),
        let partition = Int32(parts[0].dropFirst().dropLast()), partition >= 0, offsets[partition] == nil,
        let offset = Int64(parts[1]), offset >= 0
      else { return nil }
      offsets[partition] = offset
    }
    return offsets
  }

  /// Checks the plan's header, and that it is the last one.
  func checkPlan(_ headers: [ByteSpan?], _ form: ChangesetForm) throws(Violation) {
    let rest = Array(HeaderCheck.optional(headers))
    let isNeeded = PlanCheck.isNeeded(form.record)
    guard let name = rest.first else {
      try require(isNeeded != true || !requiresPlans) {
        "the header \(quoted(ChangesetPlan.header)) is missing"
      }
      return
    }
    guard let name, name.matches(ChangesetPlan.header), isNeeded != false else {
      throw Violation("there is a header \(HeaderCheck.words(name)), expected no more than the eight")
    }
    let value = rest.count > 1 ? rest[1] : nil
    guard let value, let plan = form.plan else {
      throw Violation(
        "the header \(quoted(ChangesetPlan.header)) is \(HeaderCheck.words(value)), "
          + "which does not have the figures of a plan"
      )
    }
    expected.removeAll()
    plan.write(to: expected)
    try require(value.hasSameBytes(as: expected.written)) {
      "the header \(quoted(ChangesetPlan.header)) is \(value.text), expected \(expected.written.text)"
    }
    try require(rest.count <= 2) {
      "there is a header \(HeaderCheck.words(rest[2])), expected no more than the nine"
    }
    try PlanCheck.checkReason(plan, form)
  }

  /// Checks that a null has no headers.
  func checkNone(_ headers: [ByteSpan?]) throws(Violation) {
    guard let first = headers.first else { return }
    throw Violation("a null has a header \(HeaderCheck.words(first)), expected none")
  }

  private func write(_ name: StaticString, _ form: ChangesetForm) {
    expected.removeAll()
    let record = form.record
    switch name.description {
    case "content-type": expected.append("application/json" as StaticString)
    case "ce_specversion": expected.append("1.0" as StaticString)
    case "ce_type": expected.append("feedstore.changeset" as StaticString)
    case "ce_source": source.withUnsafeBytes { expected.append(ByteSpan($0)) }
    case "ce_id":
      expected.append(record.feed)
      expected.append("@" as StaticString)
      expected.append(record.epoch)
      expected.append("@" as StaticString)
      expected.append(decimal: record.revision)
      expected.append(form.isKeyframe ? "/keyframe" : "/" as StaticString)
      expected.append(decimal: record.part)
    case "ce_subject": expected.append(record.feed)
    case "ce_time": expected.append(record.time)
    default: expected.append(decimal: record.revision, width: 20)
    }
  }

  private func quoted(_ name: StaticString) -> String { "\"\(name)\"" }

  private static func words(_ text: ByteSpan?) -> String { text?.quotedForMessage() ?? "null" }
}
