/// The shapes of events that were read lately.
///
/// To learn a shape takes as long as to read some ten events. Where events are of too many shapes, or of none twice, they are
/// learned ever more rarely.
struct EventShapes: ~Copyable {
  private let shapes: UnsafeMutablePointer<EventShape>
  private var count = 0
  /// The one that a text was of last.
  private var recent = 0
  /// Events of none of the shapes since one was learned, and how many must have come before another is.
  private var misses = 0
  private var patience = EventShapes.leastPatience
  /// How many shapes were learned; for tests.
  private(set) var learnedCount = 0
  /// For the text that is read: a number for each piece of a shape.
  private let places: UnsafeMutablePointer<UInt32>

  static let greatestCount = 4
  static let leastPatience = 8
  static let greatestPatience = 1024

  init() {
    shapes = .allocate(capacity: EventShapes.greatestCount)
    places = .allocate(capacity: EventShape.greatestPieceCount)
  }

  deinit {
    shapes.deinitialize(count: count)
    shapes.deallocate()
    places.deallocate()
  }

  /// Finds an event's fields and checks the whole text, if it is of a shape that was learned.
  ///
  /// - Parameter fields: what is found but for the operation; untouched if there is no result.
  /// - Returns: the shape; nil says nothing of whether the text is an event.
  @inline(never)
  mutating func shape(of text: ByteSpan, _ fields: inout EventFields) -> UnsafePointer<EventShape>? {
    guard count > 0, text.count >= JSONCursor.blockBytes, text.count <= EventShape.greatestByteCount,
      text[text.count &- 1] == UInt8(ascii: "}")
    else { return nil }
    if read(text, recent, &fields) { return UnsafePointer(shapes + recent) }
    return count > 1 ? otherShape(of: text, &fields) : nil
  }

  @inline(never)
  private mutating func otherShape(
    of text: ByteSpan,
    _ fields: inout EventFields
  ) -> UnsafePointer<EventShape>? {
    for number in 0..<count where number != recent && read(text, number, &fields) {
      recent = number
      return UnsafePointer(shapes + number)
    }
    return nil
  }

  @inline(__always)
  private mutating func read(_ text: ByteSpan, _ number: Int, _ fields: inout EventFields) -> Bool {
    guard EventShape.read(text, as: shapes + number, places: places, &fields) else { return false }
    shapes[number].hits &+= 1
    return true
  }

  /// Notes an event that was read in another way, and perhaps learns its shape.
  @inline(never)
  mutating func note(
    _ text: ByteSpan,
    _ fields: EventFields,
    depth: Int,
    _ operation: Operation,
    ignored: [Int] = []
  ) {
    misses += 1
    guard count < EventShapes.greatestCount || misses >= patience else { return }
    misses = 0
    guard let shape = EventShape(of: text, fields, depth: depth, operation, ignored: ignored) else { return }
    learnedCount += 1
    if count < EventShapes.greatestCount {
      (shapes + count).initialize(to: shape)
      count += 1
      return
    }
    var rarest = 0
    for number in 1..<count where shapes[number].hits < shapes[rarest].hits { rarest = number }
    let isOfUse = shapes[rarest].hits >= patience
    patience = isOfUse ? EventShapes.leastPatience : min(2 * patience, EventShapes.greatestPatience)
    shapes[rarest] = shape
    for number in 0..<count { shapes[number].hits /= 2 }
  }
}
