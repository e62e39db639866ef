import Glibc

/// How an event was spelled: its text but for the contents of strings and for numbers and literals, which are its *gaps*.
///
/// Most records are spelled like one before them. A text of a known shape is compared piece by piece, and only its gaps are read,
/// which takes a third of a walk over its grammar. What lies between the gaps is a valid event's, and a gap holds what may stand
/// there, so the text is one that `PlainEvent` accepts, with the same fields. A text that is not of the shape may be an event all
/// the same.
struct EventShape: ~Copyable {
  /// Bytes that are the same in each text of the shape, and what is before them.
  private struct Piece {
    /// Where it begins in the text that the shape was learned from.
    let start: Int32
    let count: Int32
    let gap: Gap
  }

  private enum Gap {
    /// The text begins.
    case none
    case string
    /// A string within the data, whose escapes are passed through.
    case stringOfData
    case scalar
  }

  /// Where the value of a field begins or ends.
  private struct Boundary {
    let index: Int
    /// In the text that the shape was learned from, within or at an end of a piece.
    let offset: Int32
    let piece: Int32
  }

  /// How deep its texts are nested.
  let depth: Int
  /// What its texts say, which is no gap.
  let operation: Operation
  /// Texts of this shape since it was learned; less if that was long ago.
  var hits = 0
  private let text: UnsafeMutablePointer<UInt8>
  private let pieces: UnsafeMutablePointer<Piece>
  private let pieceCount: Int
  private let boundaries: UnsafeMutablePointer<Boundary>
  private let boundaryCount: Int

  /// Longer texts have no shape.
  static let greatestByteCount = 4096
  static let greatestPieceCount = 64

  /// The shape of a text; nil if it has none.
  ///
  /// - Parameters:
  ///   - text: what `PlainEvent` accepts.
  ///   - fields: where its fields are.
  ///   - depth: how deep it is nested.
  init?(of text: ByteSpan, _ fields: EventFields, depth: Int, _ operation: Operation) {
    guard text.count <= EventShape.greatestByteCount, text[text.count - 1] == UInt8(ascii: "}") else {
      return nil
    }
    let pieces = EventShape.pieces(of: text, fields)
    guard pieces.count <= EventShape.greatestPieceCount else { return nil }
    let boundaries = EventFields.boundaryIndexes.compactMap {
      index -> Boundary? in
      let offset = Int32(fields.boundary(index))
      guard offset > 0 else { return nil }
      // Between two gaps there is a piece, so only one is at an end of a value.
      let piece =
        EventFields.isEnd(index)
        ? pieces.lastIndex { $0.start <= offset } : pieces.firstIndex { $0.start + $0.count >= offset }
      return piece.map { Boundary(index: index, offset: offset, piece: Int32($0)) }
    }
    self.depth = depth
    self.operation = operation
    self.text = text.copied()
    self.pieces = .allocate(capacity: pieces.count)
    _ = UnsafeMutableBufferPointer(start: self.pieces, count: pieces.count).initialize(from: pieces)
    pieceCount = pieces.count
    self.boundaries = .allocate(capacity: boundaries.count)
    _ = UnsafeMutableBufferPointer(start: self.boundaries, count: boundaries.count).initialize(
      from: boundaries
    )
    boundaryCount = boundaries.count
  }

  deinit {
    free(text)
    pieces.deallocate()
    boundaries.deallocate()
  }

  private static func pieces(of text: ByteSpan, _ fields: EventFields) -> [Piece] {
    var pieces: [Piece] = []
    var (start, gap, at) = (0, Gap.none, 0)
    func addPiece(upTo end: Int) {
      pieces.append(Piece(start: Int32(start), count: Int32(end - start), gap: gap))
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
          (start, gap) = (end - 1, data.first < at && at < data.end ? .stringOfData : .string)
        }
        at = end
      default:
        addPiece(upTo: at)
        at = scanner.endOfValue(at)
        (start, gap) = (at, .scalar)
      }
    }
    addPiece(upTo: at)
    return pieces
  }

  // MARK: Reading

  /// Whether a text begins with the shape's first piece, so that it is worth to be marked.
  @inline(__always)
  func begins(_ text: ByteSpan) -> Bool { isNext(pieces[0], in: text, at: 0) }

  /// Finds the fields of a text if it is of this shape, and UTF-8.
  ///
  /// - Parameters:
  ///   - text: one that `begins` so, and ends in a bracket that closes.
  ///   - stops: its marks, and behind them a word that is not 0.
  ///   - shifts: memory for a number for each piece.
  ///   - fields: what is found but for the operation; untouched if the text is not of this shape.
  @inline(__always)
  func read(
    _ text: ByteSpan,
    isASCII: Bool,
    stops: UnsafePointer<UInt64>,
    shifts: UnsafeMutablePointer<Int32>,
    _ fields: inout EventFields
  ) -> Bool {
    guard isShape(of: text, stops, shifts), isASCII || JSONIndexer.isUTF8(text) else { return false }
    for number in 0..<boundaryCount {
      let boundary = boundaries[number]
      fields.set(boundary: boundary.index, boundary.offset &+ shifts[Int(boundary.piece)])
    }
    return true
  }

  /// - Parameter shifts: by how much each piece stands behind where it was learned.
  @inline(never)
  private func isShape(
    of text: ByteSpan,
    _ stops: UnsafePointer<UInt64>,
    _ shifts: UnsafeMutablePointer<Int32>
  ) -> Bool {
    var at = Int(pieces[0].count)
    shifts[0] = 0
    var number = 1
    while number < pieceCount {
      let piece = pieces[number]
      if piece.gap == .scalar {
        // The text ends in a bracket, which is in no scalar.
        guard at < text.count else { return false }
        at = JSONCursor.endOfScalar(text.base, at, text.count)
        guard at > 0 else { return false }
      } else {
        at = EventShape.nextStop(stops, at)
      }
      if !isNext(piece, in: text, at: at) {
        // A string's piece begins with the quote that ends it, which may come behind escapes.
        guard piece.gap == .stringOfData else { return false }
        at = EventShape.endOfEscaped(text, at)
        guard at > 0, isNext(piece, in: text, at: at) else { return false }
      }
      shifts[number] = Int32(truncatingIfNeeded: at) &- piece.start
      at &+= Int(piece.count)
      number &+= 1
    }
    return at == text.count
  }

  @inline(__always)
  private func isNext(_ piece: Piece, in text: ByteSpan, at: Int) -> Bool {
    at &+ Int(piece.count) <= text.count
      && EventShape.isSame(self.text + Int(piece.start), text.base + at, Int(piece.count))
  }

  /// The quote that ends a string with an escape at a stop; 0 if there is none, or an escape that may be half of a surrogate pair.
  @inline(never)
  private static func endOfEscaped(_ text: ByteSpan, _ stop: Int) -> Int {
    guard stop < text.count, text[stop] == UInt8(ascii: "\\") else { return 0 }
    let rest = JSONCursor.endOfString(text.base, stop, text.count)
    return rest.end > 0 && !rest.found.contains(.unicodeEscapes) ? rest.end - 1 : 0
  }

  /// Where the next byte is that strings are not simply made of; past the text if there is none.
  @inline(__always)
  private static func nextStop(_ stops: UnsafePointer<UInt64>, _ start: Int) -> Int {
    var word = start &>> 6
    var bits = stops[word] & .max &<< UInt64(truncatingIfNeeded: start & 63)
    while bits == 0 {
      word &+= 1
      bits = stops[word]
    }
    return word &<< 6 &+ bits.trailingZeroBitCount
  }

  /// Compares one byte or more: words, the last of which may overlap the one before.
  @inline(__always)
  private static func isSame(
    _ left: UnsafePointer<UInt8>,
    _ right: UnsafePointer<UInt8>,
    _ count: Int
  ) -> Bool {
    // A call of `memcmp` costs more than most pieces.
    if count < 4 {
      return left[0] == right[0] && left[count &>> 1] == right[count &>> 1]
        && left[count &- 1] == right[count &- 1]
    }
    if count <= 16 { return ByteSpan(left, count).hasSameBytes(as: ByteSpan(right, count)) }
    let (left, right) = (UnsafeRawPointer(left), UnsafeRawPointer(right))
    let last = count &- 8
    var at = 0
    while at < last {
      if left.loadUnaligned(fromByteOffset: at, as: UInt64.self)
        != right.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      {
        return false
      }
      at &+= 8
    }
    return left.loadUnaligned(fromByteOffset: last, as: UInt64.self)
      == right.loadUnaligned(fromByteOffset: last, as: UInt64.self)
  }
}
