import Feed
import FeedConfiguration

/// A record's key as templates see it. It is parsed when a template asks for it.
final class RowKey {
  private let indexer = JSONIndexer()
  private let arena: ScratchArena
  /// Whether a key that has a schema stands for its payload.
  private let hasSchemas: Bool
  private var bytes: ByteSpan?
  private var parsed: Parsed?

  private enum Parsed {
    case json(JSONText, first: Int)
    case text
  }

  private static let schema = JSONPointer(members: ["schema"])
  private static let payload = JSONPointer(members: ["payload"])

  init(_ format: IngestSource.Format, _ arena: ScratchArena) {
    hasSchemas = format == .debezium
    self.arena = arena
  }

  /// Another record begins.
  func begin(_ bytes: ByteSpan?) {
    self.bytes = bytes
    parsed = nil
  }

  /// The whole key: the text of a JSON string, other JSON as it is spelled, and what is no JSON as it is.
  func whole() throws(Rejection) -> ByteSpan {
    let bytes = try present()
    // Only these can stand for something else than their own bytes.
    let first = bytes.buffer.first { !JSONText.isSpace($0) }
    guard first == UInt8(ascii: "\"") || hasSchemas && first == UInt8(ascii: "{") else {
      return try checked(bytes)
    }
    guard case .json(let text, let first) = parse(bytes) else { return try checked(bytes) }
    if text.character(first) == UInt8(ascii: "\"") { return text.string(first, arena: arena) }
    return text.span(from: first, to: text.tokenAfterValue(first))
  }

  /// A value in the key; nil if there is none.
  func find(_ pointer: JSONPointer) throws(Rejection) -> (text: JSONText, field: JSONText.Field)? {
    guard case .json(let text, let first) = parse(try present()),
      let field = pointer.find(in: text, from: first)
    else { return nil }
    return (text, field)
  }

  private func present() throws(Rejection) -> ByteSpan {
    guard let bytes, !bytes.isEmpty else {
      throw Rejection(.missingKey, "the record has no key, and the mapping uses it")
    }
    return bytes
  }

  private func checked(_ bytes: ByteSpan) throws(Rejection) -> ByteSpan {
    guard JSONIndexer.isUTF8(bytes) else { throw RecordDecoder.notUTF8("key", bytes) }
    return bytes
  }

  private func parse(_ bytes: ByteSpan) -> Parsed {
    if let parsed { return parsed }
    var result = Parsed.text
    if let text = try? indexer.validatedWithPairedSurrogates(bytes) {
      var first = 0
      if hasSchemas, Self.schema.find(in: text, from: 0) != nil,
        let inner = Self.payload.find(in: text, from: 0)
      {
        first = inner.first
      }
      result = .json(text, first: first)
    }
    parsed = result
    return result
  }
}
