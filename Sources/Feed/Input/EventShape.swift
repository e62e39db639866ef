internal import CSimdjson
import Glibc

/// How an event was spelled: its text but for the contents of strings and for numbers and literals, which are its *gaps*.
///
/// Most records are spelled like one before them. A text of a known shape is compared piece by piece, and only its gaps are read,
/// which takes a third of a walk over its grammar. What lies between the gaps is a valid event's, and a gap holds what may stand
/// there, so the text is one that `PlainEvent` accepts, with the same fields. A text that is not of the shape may be an event all
/// the same.
struct EventShape: ~Copyable {
  /// A piece of the text that the shape was learned from.
  private struct Piece {
    let start: Int
    let count: Int
    /// What is before it.
    let gap: feedstore_shape_gap
  }

  /// Where the value of a field begins or ends.
  private struct Boundary {
    let piece: Int32
    /// How far behind the beginning of the piece, or, if negative, before it.
    let offset: Int32
  }

  /// Where a field's value is.
  private struct Value {
    let field: Int
    let first: Boundary
    let end: Boundary
  }

  /// How deep its texts are nested.
  let depth: Int
  /// What its texts say, which is no gap.
  let operation: Operation
  /// The numbers of the fields of its texts that have no effect.
  let ignoredFields: [Int]
  let ignoresFields: Bool
  /// Texts of this shape since it was learned; less if that was long ago.
  var hits = 0
  private let pieces: UnsafeMutablePointer<feedstore_shape_piece>
  private let pieceCount: Int
  /// What the pieces are of.
  private let text: UnsafeMutablePointer<UInt8>
  private let values: UnsafeMutablePointer<Value>
  private let valueCount: Int

  /// Longer texts have no shape.
  static let greatestByteCount = 4096
  static let greatestPieceCount = 64

  /// The shape of a text; nil if it has none.
  ///
  /// - Parameters:
  ///   - text: what `PlainEvent` accepts.
  ///   - fields: where its fields are.
  ///   - depth: how deep it is nested.
  ///   - ignored: the numbers of those that have no effect.
  init?(
    of text: ByteSpan,
    _ fields: EventFields,
    depth: Int,
    _ operation: Operation,
    ignored: [Int] = []
  ) {
    guard text.count <= EventShape.greatestByteCount, text[text.count - 1] == UInt8(ascii: "}") else {
      return nil
    }
    let pieces = EventShape.pieces(of: text, fields)
    guard pieces.count <= EventShape.greatestPieceCount else { return nil }
    let values = EventFields.numbers.compactMap { number -> Value? in
      let (first, end) = fields[number].value
      // Between two gaps there is a piece, so only one is at an end of a value.
      guard first > 0, let firstPiece = pieces.firstIndex(where: { $0.start + $0.count >= first }),
        let endPiece = pieces.lastIndex(where: { $0.start <= end })
      else { return nil }
      return Value(
        field: number,
        first: Boundary(piece: Int32(firstPiece), offset: Int32(first - pieces[firstPiece].start)),
        end: Boundary(piece: Int32(endPiece), offset: Int32(end - pieces[endPiece].start))
      )
    }
    self.depth = depth
    self.operation = operation
    ignoredFields = ignored
    ignoresFields = !ignored.isEmpty
    self.text = EventShape.padded(text)
    self.pieces = .allocate(capacity: pieces.count)
    pieceCount = pieces.count
    for (number, piece) in pieces.enumerated() {
      (self.pieces + number).initialize(
        to: feedstore_shape_piece(
          bytes: self.text + EventShape.padding + piece.start,
          count: UInt32(piece.count),
          first_bits: piece.count < 32 ? 1 << UInt32(piece.count) - 1 : .max,
          gap: piece.gap
        )
      )
    }
    self.values = .allocate(capacity: values.count)
    self.values.initialize(from: values, count: values.count)
    valueCount = values.count
  }

  deinit {
    text.deallocate()
    pieces.deallocate()
    values.deallocate()
  }

  /// How many bytes before and behind a piece are read.
  private static let padding = 32

  /// A copy of a text with bytes before and behind it.
  private static func padded(_ text: ByteSpan) -> UnsafeMutablePointer<UInt8> {
    let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: text.count + 2 * padding)
    copy.initialize(repeating: 0, count: text.count + 2 * padding)
    (copy + padding).update(from: text.base, count: text.count)
    return copy
  }

  private static func pieces(of text: ByteSpan, _ fields: EventFields) -> [Piece] {
    var pieces: [Piece] = []
    var (start, gap, at) = (0, feedstore_shape_start, 0)
    func addPiece(upTo end: Int) {
      pieces.append(Piece(start: start, count: end - start, gap: gap))
    }
    var scanner = JSONScanner(text)
    // One for each bracket that is open: whether it is an object's.
    var objects: [Bool] = []
    var isName = false
    while at < text.count {
      switch text[at] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        isName = text[at] == UInt8(ascii: "{")
        objects.append(isName)
        at += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        objects.removeLast()
        at += 1
      case UInt8(ascii: ","):
        isName = objects.last ?? false
        at += 1
      case UInt8(ascii: ":"):
        isName = false
        at += 1
      case UInt8(ascii: "\""):
        let end = scanner.endOfString(at)
        if !isName, at != fields.op.value.first {
          addPiece(upTo: at + 1)
          let data = fields.data.value
          let isOfData = data.first < at && at < data.end
          (start, gap) = (end - 1, isOfData ? feedstore_shape_any_string : feedstore_shape_string)
        }
        at = end
      default:
        addPiece(upTo: at)
        at = scanner.endOfValue(at)
        (start, gap) = (at, feedstore_shape_scalar)
      }
    }
    addPiece(upTo: at)
    return pieces
  }

  // MARK: Reading

  /// Finds the fields of a text if it is of this shape, and UTF-8.
  ///
  /// - Parameters:
  ///   - shape: where it stands, which spares a copy.
  ///   - text: one of `JSONCursor.blockBytes` or more that ends in a bracket that closes.
  ///   - places: memory for a number for each piece.
  ///   - fields: what is found but for the operation; untouched if the text is not of this shape.
  @inline(__always)
  static func read(
    _ text: ByteSpan,
    as shape: UnsafeMutablePointer<EventShape>,
    places: UnsafeMutablePointer<UInt32>,
    _ fields: inout EventFields
  ) -> Bool {
    guard isShape(shape, of: text, places) else { return false }
    let values = shape.pointee.values
    for number in 0..<shape.pointee.valueCount {
      let (field, first, end) = (values[number].field, values[number].first, values[number].end)
      fields[field] = EventFields.Slot(
        first: places[Int(first.piece)] &+ UInt32(bitPattern: first.offset),
        end: places[Int(end.piece)] &+ UInt32(bitPattern: end.offset)
      )
    }
    return true
  }

  /// - Parameter places: where each piece is.
  @inline(__always)
  private static func isShape(
    _ shape: UnsafeMutablePointer<EventShape>,
    of text: ByteSpan,
    _ places: UnsafeMutablePointer<UInt32>
  ) -> Bool {
    let (pieces, pieceCount) = (shape.pointee.pieces, shape.pointee.pieceCount)
    var match = feedstore_shape_match()
    while true {
      let next = match.piece
      feedstore_shape_pass(pieces, pieceCount, text.base, text.count, &match, places)
      if match.piece == pieceCount {
        return match.at == text.count && (match.not_ascii == 0 || JSONIndexer.isUTF8(text))
      }
      // A piece that differs where the gap before it was passed here.
      guard match.piece > next, passGap(pieces[match.piece].gap, in: text, &match) else { return false }
    }
  }

  /// Passes what is neither simply a string's content nor a plain integer.
  @inline(never)
  private static func passGap(
    _ gap: feedstore_shape_gap,
    in text: ByteSpan,
    _ match: inout feedstore_shape_match
  ) -> Bool {
    // The text ends in a bracket, which is in no scalar.
    guard match.at < text.count else { return false }
    switch gap {
    case feedstore_shape_scalar: match.at = JSONCursor.endOfScalar(text.base, match.at, text.count)
    // A string's piece begins with the quote that ends it, which may come behind escapes.
    case feedstore_shape_any_string: match.at = endOfEscaped(text, &match)
    default: return false
    }
    return match.at > 0
  }

  /// The quote that ends a string with an escape; 0 if there is none, or an escape that may be half of a surrogate pair.
  ///
  /// - Parameter match: at the escape.
  private static func endOfEscaped(_ text: ByteSpan, _ match: inout feedstore_shape_match) -> Int {
    guard text[match.at] == UInt8(ascii: "\\") else { return 0 }
    let rest = JSONCursor.endOfString(text.base, match.at, text.count)
    if rest.found.contains(.nonASCII) { match.not_ascii = 1 }
    return rest.end > 0 && !rest.found.contains(.unicodeEscapes) ? rest.end - 1 : 0
  }
}
