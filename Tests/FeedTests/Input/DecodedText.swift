@testable import Feed

/// The result of decoding a value: its events, or the rejection.
struct DecodedText: Equatable {
  let description: String

  init(_ span: ByteSpan, _ decoder: RecordDecoder) {
    do throws(Rejection) {
      try decoder.decode(key: ByteSpan("feed" as StaticString), value: span)
    } catch {
      description = "\(error.code): \(error.message)"
      return
    }
    description = (0..<decoder.events.count).map { DecodedText.describe(decoder.events[$0]) }.joined(
      separator: "; "
    )
  }

  private static func describe(_ event: Event) -> String {
    let place: String =
      switch event.place {
      case nil: "none"
      case .first?: "first"
      case .last?: "last"
      case .before(let id)?: "before \(id.text)"
      case .after(let id)?: "after \(id.text)"
      case .index(let index)?: "index \(index)"
      }
    return "\(event.operation) \(event.item.text) \(event.section.text) \(event.fields.kind?.text ?? "none") "
      + "\(event.fields.data?.text ?? "none") \(place) \(event.items) \(event.sections)"
  }
}
