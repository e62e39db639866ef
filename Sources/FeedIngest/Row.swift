import Feed
import FoundationEssentials

/// A row in the text of its record, or in a text of its own.
struct Row {
  let text: JSONText
  /// The token at which its object starts.
  let start: Int

  func find(_ pointer: JSONPointer) -> JSONText.Field? { pointer.find(in: text, from: start) }

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
  let bytes: [UInt8]
  private let spellings: [OwnedSpan]
  /// The lengths of values that may be one, whose characters may be escaped.
  private let lengths: ClosedRange<Int>

  /// - Parameter text: the connector's `unavailable.value.placeholder`.
  init(_ text: String) {
    bytes = Array(text.utf8)
    let hexadecimal = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    let base64 = Data(bytes).base64EncodedString()
    let quoted = JSONData(string: text).description
    let list = "[" + bytes.map(String.init).joined(separator: ",") + "]"
    // Text, bytes, a map, an array of bytes.
    spellings = [text, base64, hexadecimal, "{\(quoted):\(quoted)}", list].map(\.ownedSpan)
    lengths = bytes.count...(64 + 16 * bytes.count)
    let pairs = [text, base64, hexadecimal, "__"].map { Array($0.utf8.prefix(2)) }
    beginnings = SIMD4(pairs.map { $0.withUnsafeBytes { $0.loadUnaligned(as: UInt16.self) } })
  }

  /// The first two bytes of its spellings as strings, and of ExtractNewRecordState's members.
  let beginnings: SIMD4<UInt16>

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

extension String {
  /// A copy of its bytes in the arena.
  func span(in arena: ScratchArena) -> ByteSpan {
    var text = self
    return text.withUTF8 { arena.copy(ByteSpan(UnsafeRawBufferPointer($0))) }
  }

  var ownedSpan: OwnedSpan { Array(utf8).withUnsafeBytes { OwnedSpan(ByteSpan($0)) } }
}
