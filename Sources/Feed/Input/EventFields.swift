/// Where each known field's value is in an event's text.
struct EventFields {
  private(set) var op = Slot()
  private(set) var item = Slot()
  private(set) var section = Slot()
  private(set) var kind = Slot()
  private(set) var data = Slot()
  private(set) var at = Slot()
  private(set) var order = Slot()
  private(set) var keep = Slot()
  private(set) var items = Slot()
  private(set) var sections = Slot()
  /// The names that occurred, known and unknown.
  private(set) var names: Names = []

  /// A first token of 0 means that it is absent.
  typealias Value = JSONText.Field

  /// A value in half the memory, since there are many.
  struct Slot {
    private var first: UInt32 = 0
    private var end: UInt32 = 0

    @inline(__always)
    init() {}

    @inline(__always)
    init(_ value: Value) {
      first = UInt32(truncatingIfNeeded: value.first)
      end = UInt32(truncatingIfNeeded: value.end)
    }

    @inline(__always)
    var value: Value { (Int(first), Int(end)) }

    @inline(__always)
    var isAbsent: Bool { first == 0 }
  }

  /// A field's name.
  enum Name: UInt8 {
    case op, item, section, kind, data, at, order, keep, items, sections, unknown

    /// - Parameter name: without escapes.
    @inline(__always)
    init(_ name: ByteSpan) {
      self = .unknown
      switch name.count {
      case 2:
        if name.matches("op") { self = .op } else if name.matches("at") { self = .at }
      case 4:
        if name.matches("item") {
          self = .item
        } else if name.matches("data") {
          self = .data
        } else if name.matches("kind") {
          self = .kind
        } else if name.matches("keep") {
          self = .keep
        }
      case 5: if name.matches("items") { self = .items } else if name.matches("order") { self = .order }
      case 7: if name.matches("section") { self = .section }
      case 8: if name.matches("sections") { self = .sections }
      default: break
      }
    }

  }

  /// Some of the names, a bit for each.
  struct Names: OptionSet {
    let rawValue: UInt16
    static let op = Names(.op)
    static let item = Names(.item)
    static let section = Names(.section)
    static let kind = Names(.kind)
    static let data = Names(.data)
    static let at = Names(.at)
    static let order = Names(.order)
    static let keep = Names(.keep)
    static let items = Names(.items)
    static let sections = Names(.sections)

    /// What an element of a `sections` list may have besides its id.
    static let ofListedSection: Names = [.data, .order, .keep, .items]

    @inline(__always)
    init(rawValue: UInt16) { self.rawValue = rawValue }

    @inline(__always)
    init(_ name: Name) { self.init(rawValue: 1 &<< UInt16(truncatingIfNeeded: name.rawValue)) }
  }

  /// Reads the names of an object's members; of duplicates the last counts. Not an initializer, which would own, and so count,
  /// what it is handed.
  @inline(__always)
  mutating func read(_ object: Int, in text: JSONText, _ arena: ScratchArena) {
    if text.isPlain { readPlain(object, text) } else { readAny(object, text, arena) }
  }

  @inline(never)
  private mutating func readAny(_ object: Int, _ text: JSONText, _ arena: ScratchArena) {
    text.forEachMember(of: object, arena: arena) { name, value in set(Name(name), value) }
  }

  /// Does the same for a text without escapes and white space, without a look at what makes those special.
  @inline(__always)
  private mutating func readPlain(_ object: Int, _ text: JSONText) {
    let (base, offsets, closings) = (text.bytes.base, text.offsets, text.closings)
    var token = object + 1
    while base[Int(offsets[token])] != UInt8(ascii: "}") {
      let start = Int(offsets[token]) + 1
      let name = ByteSpan(base + start, Int(offsets[token + 1]) - 1 - start)
      let value = token + 2
      let first = base[Int(offsets[value])]
      let isOpen = first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
      let end = (isOpen ? Int(closings[value]) : value) + 1
      set(Name(name), (value, end))
      token = base[Int(offsets[end])] == UInt8(ascii: ",") ? end + 1 : end
    }
  }

  @inline(__always)
  mutating func set(_ name: Name, _ value: Value) {
    let slot = Slot(value)
    switch name {
    case .op: op = slot
    case .item: item = slot
    case .section: section = slot
    case .kind: kind = slot
    case .data: data = slot
    case .at: at = slot
    case .order: order = slot
    case .keep: keep = slot
    case .items: items = slot
    case .sections: sections = slot
    case .unknown: break
    }
    names.formUnion(Names(name))
  }
}
