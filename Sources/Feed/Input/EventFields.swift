/// The position of each known field's value in the text of an event, or of an object in an event.
struct EventFields {
  private var slots = InlineArray<15, Slot>(repeating: Slot((0, 0)))
  /// The object with the fields.
  let parent: IgnoredFields.Parent
  /// The names that occurred, known and unknown.
  private(set) var names: Names = []

  @inline(__always)
  init(in parent: IgnoredFields.Parent) { self.parent = parent }

  @inline(__always)
  subscript(name: Name) -> EventField {
    EventField(name: name, parent: parent, value: slots[name.slot].value)
  }

  /// A value in half the memory, since there are many.
  struct Slot {
    private let bits: UInt64

    @inline(__always)
    init(_ value: JSONText.Field) { bits = UInt64(value.first) << 32 | UInt64(value.end) }

    @inline(__always)
    var value: JSONText.Field { (Int(bits >> 32), Int(bits & 0xFFFF_FFFF)) }
  }

  /// A field's name.
  enum Name: UInt8 {
    case op, item, section, kind, data, expires, at, order, keep, ttl, items, sections, `if`, refs, unknown
    /// A listed element's, and the members of a place: these objects have only one of them, and events have none.
    case id, before, after, index

    /// The last ones share a slot, which keeps the slots few.
    @inline(__always)
    var slot: Int { Int(min(rawValue, Name.unknown.rawValue)) }

    /// - Parameter name: without escapes.
    @inline(__always)
    init(_ name: ByteSpan) {
      self = .unknown
      switch name.count {
      case 2:
        if name.matches("op") {
          self = .op
        } else if name.matches("at") {
          self = .at
        } else if name.matches("id") {
          self = .id
        } else if name.matches("if") {
          self = .if
        }
      case 3: if name.matches("ttl") { self = .ttl }
      case 4:
        if name.matches("item") {
          self = .item
        } else if name.matches("data") {
          self = .data
        } else if name.matches("kind") {
          self = .kind
        } else if name.matches("keep") {
          self = .keep
        } else if name.matches("refs") {
          self = .refs
        }
      case 5:
        if name.matches("items") {
          self = .items
        } else if name.matches("order") {
          self = .order
        } else if name.matches("after") {
          self = .after
        } else if name.matches("index") {
          self = .index
        }
      case 6: if name.matches("before") { self = .before }
      case 7:
        if name.matches("section") {
          self = .section
        } else if name.matches("expires") {
          self = .expires
        }
      case 8: if name.matches("sections") { self = .sections }
      default: break
      }
    }
  }

  /// A set of names, one bit each.
  struct Names: OptionSet {
    let rawValue: UInt32
    static let `if` = Names(.if)
    /// The fields of every operation.
    static let common: Names = [Names(.op), Names(.if)]
    static let item = Names(.item)
    static let section = Names(.section)
    static let kind = Names(.kind)
    static let data = Names(.data)
    static let expires = Names(.expires)
    static let at = Names(.at)
    static let order = Names(.order)
    static let keep = Names(.keep)
    static let ttl = Names(.ttl)
    static let items = Names(.items)
    static let sections = Names(.sections)
    static let id = Names(.id)
    static let before = Names(.before)
    static let after = Names(.after)
    static let index = Names(.index)
    static let refs = Names(.refs)

    @inline(__always)
    init(rawValue: UInt32) { self.rawValue = rawValue }

    @inline(__always)
    init(_ name: Name) { self.init(rawValue: 1 &<< UInt32(truncatingIfNeeded: name.rawValue)) }
  }

  /// Reads the names of an object's members; of duplicates the last counts. Not an initializer, which would
  /// own, and so count, its argument.
  @inline(__always)
  mutating func read(_ object: Int, in text: JSONText, _ arena: ScratchArena) {
    if text.isPlain { readPlain(object, text) } else { readAny(object, text, arena) }
  }

  @inline(never)
  private mutating func readAny(_ object: Int, _ text: JSONText, _ arena: ScratchArena) {
    text.forEachMember(of: object, arena: arena) { name, value in set(Name(name), value) }
  }

  /// Reads them from a text without escapes and white space, which needs fewer checks.
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
  mutating func set(_ name: Name, _ value: JSONText.Field) {
    slots[name.slot] = Slot(value)
    names.formUnion(Names(name))
  }
}

/// A field of an event, or of an object in an event.
struct EventField {
  let name: EventFields.Name
  let parent: IgnoredFields.Parent
  /// A first token of 0 means that it is absent.
  var value: JSONText.Field

  @inline(__always)
  var isAbsent: Bool { value.first == 0 }

  /// The field's name in messages: `items.id`.
  var path: String { "\(parent.path)\(name)" }
}
