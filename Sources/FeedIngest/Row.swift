import CTextMarks
import Feed
import FeedConfiguration
import FoundationEssentials
import Glibc

/// A row in the text of its record, or in a text of its own.
struct Row {
  let text: JSONText
  /// The token at which its object starts.
  let start: Int

  func find(_ pointer: JSONPointer) -> JSONText.Field? { pointer.find(in: text, from: start) }

  /// The member by which Debezium's ExtractNewRecordState says whether the row is deleted, if it rewrites deletions.
  static let deletedMark: StaticString = "__deleted"
  private static let deleted = JSONPointer(members: ["__deleted"])
  private static let operation = JSONPointer(members: ["__op"])

  /// The value of that member.
  func mark(arena: ScratchArena) -> ByteSpan? { value(Self.deleted, arena) }

  func isDeleted(arena: ScratchArena) -> Bool {
    mark(arena: arena)?.matches("true") == true || value(Self.operation, arena)?.matches("d") == true
  }

  private func value(_ pointer: JSONPointer, _ arena: ScratchArena) -> ByteSpan? {
    find(pointer).map { field in
      let isText = text.character(field.first) == UInt8(ascii: "\"")
      return isText ? text.string(field.first, arena: arena) : text.span(of: field)
    }
  }

  /// The name of the column that has a token.
  func column(of token: Int, arena: ScratchArena) -> String {
    var column = ""
    text.forEachMember(of: start, arena: arena) { name, member in
      if (member.first..<member.end).contains(token) { column = name.quotedForMessage() }
    }
    return column
  }
}

/// Debezium's placeholder for a large value that an update did not change, in all its spellings.
final class UnavailableValue {
  private let spellings: [OwnedSpan]
  /// The lengths of values that may be one, whose characters may be escaped.
  private let lengths: ClosedRange<Int>

  /// - Parameter text: the connector's `unavailable.value.placeholder`.
  init(_ text: String) {
    let bytes = Array(text.utf8)
    let hexadecimal = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let base64 = Data(bytes).base64EncodedString()
    let quoted = IngestTemplate.quoted(text)
    let list = "[" + bytes.map(String.init).joined(separator: ",") + "]"
    // Text, bytes, a map, an array of bytes.
    spellings = [text, base64, hexadecimal, "{\(quoted):\(quoted)}", list].map(\.ownedSpan)
    lengths = bytes.count...(64 + 16 * bytes.count)
  }

  /// Whether a record may have it; most have not, and are not searched token by token.
  func mayBe(in record: ByteSpan) -> Bool {
    guard let start = record.rawBuffer.baseAddress else { return false }
    if memchr(start, Int32(UInt8(ascii: "\\")), record.count) != nil { return true }
    if memchr(start, Int32(UInt8(ascii: "[")), record.count) != nil { return true }
    return spellings.prefix(3).contains {
      memmem(start, record.count, $0.span.base, $0.span.count) != nil
    }
  }

  /// The first token of a value that is a placeholder.
  func token(in field: JSONText.Field, of text: JSONText, arena: ScratchArena) -> Int? {
    (field.first..<field.end).first { token in
      let isString = text.character(token) == UInt8(ascii: "\"")
      guard isString || text.character(token) == UInt8(ascii: "[") else { return false }
      var span = text.span(from: token, to: text.tokenAfterValue(token))
      guard lengths.contains(span.count) else { return false }
      if isString { span = text.string(token, arena: arena) }
      return spellings.contains { $0.span.hasSameBytes(as: span) }
    }
  }
}

/// Notices an order by decimals that are bytes in Base64, by which nothing is sorted.
struct OrderCheck {
  /// The members of the row that `order` names.
  private let keys: [JSONPointer]
  private var rows = 0
  private var hasPadding = false
  private var isDecided: Bool
  private var isWarning = false

  private static let mostRows = 20
  private static let lengths = 4...64

  init(_ source: IngestSource) {
    keys = source.orderKeys.map { JSONPointer(tokens: source.data.tokens + $0.tokens) }
    isDecided = keys.isEmpty
  }

  /// Whether a member decides about places.
  func uses(_ pointer: JSONPointer) -> Bool { keys.contains { $0.tokens.starts(with: pointer.tokens) } }

  mutating func takeWarning() -> Bool {
    defer { isWarning = false }
    return isWarning
  }

  /// Notes one of the first rows.
  mutating func note(_ row: Row, _ decimals: Decimals, arena: ScratchArena) {
    if isDecided { return }
    rows += 1
    isDecided = true
    guard let key = keys.first, decimals.at(key) == .none, let field = row.find(key),
      row.text.character(field.first) == UInt8(ascii: "\"")
    else { return }
    let text = row.text.string(field.first, arena: arena)
    guard Self.lengths.contains(text.count), Data(base64Encoded: Data(text.buffer)) != nil else { return }
    if text[text.count - 1] == UInt8(ascii: "=") { hasPadding = true }
    isDecided = rows == Self.mostRows
    isWarning = isDecided && hasPadding
  }
}

extension String {
  /// Its bytes, which live as long as those of the arena.
  func span(in arena: ScratchArena) -> ByteSpan {
    var text = self
    return text.withUTF8 { bytes in
      let copy = arena.allocate(bytes.count)
      if let base = bytes.baseAddress { copy.update(from: base, count: bytes.count) }
      return ByteSpan(UnsafePointer(copy), bytes.count)
    }
  }

  var ownedSpan: OwnedSpan { Array(utf8).withUnsafeBytes { OwnedSpan(ByteSpan($0)) } }
}
