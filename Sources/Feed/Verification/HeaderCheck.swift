/// Checks the headers of changeset records: those of the protocol, section 5, in their order.
struct HeaderCheck {
  private static let names: [StaticString] = [
    "content-type", "ce_specversion", "ce_type", "ce_source", "ce_id", "ce_subject", "ce_time",
    "ce_sequence",
  ]
  private let source: [UInt8]
  private let expected = ByteWriter(capacity: 1024)

  init(source: String) {
    self.source = Array(source.utf8)
  }

  func check(_ headers: [ByteSpan?], _ form: ChangesetForm) throws(Violation) {
    for (number, name) in HeaderCheck.names.enumerated() {
      guard number * 2 < headers.count else {
        throw Violation("the header \(quoted(name)) is missing")
      }
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
    let surplus = headers.dropFirst(HeaderCheck.names.count * 2)
    if let first = surplus.first {
      throw Violation("there is a header \(HeaderCheck.words(first)), expected no more than the eight")
    }
  }

  /// Nulls have no headers.
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
