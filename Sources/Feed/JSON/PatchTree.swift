/// The objects of a merge patch and their members, from one scan of its text.
///
/// Members are numbered in the order of the text, so that those inside a member's value follow it. An array
/// or a scalar, which is never merged, is a value without members.
struct PatchTree: ~Copyable {
  /// A member of an object. It is kept small, as a patch may have a member every few bytes.
  struct Member {
    /// The name with its escapes resolved, for comparing.
    let name: ByteSpan
    /// The offset of the name's opening quote.
    let start: UInt32
    let valueStart: UInt32
    fileprivate(set) var end: UInt32
    /// The number of the enclosing object.
    fileprivate let owner: Int32
    /// The number of the next member of the same object, or that object's `end`.
    fileprivate(set) var next: Int32
    /// The number of the object that is the value, or -1.
    let object: Int32
    /// The latest edit for this member, or -1.
    fileprivate(set) var edit: Int32 = -1
    let isNull: Bool
    /// Whether a later member of the same name replaces this one.
    fileprivate(set) var isSuperseded = false
  }

  struct Object {
    /// The number of the first member, and of the one after the last nested member; equal if empty.
    let first: Int
    fileprivate(set) var end: Int
    /// The number of the object's members after it is merged into an empty one.
    fileprivate(set) var resultCount = 0
    /// Whether its spelling stays the same when it is merged into an empty object.
    fileprivate(set) var isPlain = true
    /// Finds its members by name, if there are many.
    fileprivate var index: MemberIndex?
  }

  /// The members of one object.
  fileprivate final class MemberIndex {
    @exclusivity(unchecked) var table: HashIndex

    init(capacity: Int) { table = HashIndex(capacity: capacity) }
  }

  private(set) var text = ByteSpan.empty
  private(set) var members: [Member] = []
  /// The outermost object is number 0.
  private(set) var objects: [Object] = []
  /// While the text is read: the members that enclose the current object, outermost first.
  private var open: [Int] = []
  private var scannedBytes = 0
  private var comparedNames = 0

  /// Bytes scanned and names compared for the latest patch.
  var steps: Int { scannedBytes + comparedNames }

  private static let mostUnindexed = 12
  /// The capacity of a list that is kept for the next patch.
  private static let usualCapacity = 1 << 16

  /// Reads a patch, an object that is valid and without white space. Names with escapes are resolved into the arena.
  mutating func read(_ text: ByteSpan, arena: ScratchArena) {
    forget()
    self.text = text
    let hasEscapes = text.contains(UInt8(ascii: "\\"))
    var scanner = JSONScanner(text)
    var object = 0
    objects.append(Object(first: 0, end: 0))
    var at = 1
    while true {
      if text[at] == UInt8(ascii: "}") {
        at += 1
        close(object)
        guard let member = open.popLast() else { break }
        members[member].end = UInt32(at)
        members[member].next = Int32(members.count)
        let outer = Int(members[member].owner)
        // An object with a part that is not plain is not plain.
        if !objects[object].isPlain { objects[outer].isPlain = false }
        object = outer
      } else {
        let start = at
        let valueStart = scanner.endOfString(start) + 1
        let isObject = text[valueStart] == UInt8(ascii: "{")
        at = isObject ? valueStart + 1 : scanner.endOfValue(valueStart)
        let name = ByteSpan(text.base + start + 1, valueStart - start - 3)
        members.append(
          Member(
            name: hasEscapes ? JSONString.unescaped(name, arena: arena) : name,
            start: UInt32(start),
            valueStart: UInt32(valueStart),
            end: UInt32(at),
            owner: Int32(object),
            next: Int32(members.count + 1),
            object: isObject ? Int32(objects.count) : -1,
            isNull: text[valueStart] == UInt8(ascii: "n")
          )
        )
        if isObject {
          open.append(members.count - 1)
          object = objects.count
          objects.append(Object(first: members.count, end: members.count))
          continue
        }
      }
      if text[at] == UInt8(ascii: ",") { at += 1 }
    }
    scannedBytes = scanner.scannedBytes
  }

  /// The number of an object's member by name, the last if there are several.
  ///
  /// - Parameter expected: the number of the member to try first: patch and target mostly have the same
  ///   order.
  @inline(__always)
  mutating func find(_ name: ByteSpan, in number: Int, expected: Int) -> Int? {
    if expected < objects[number].end {
      comparedNames &+= 1
      if members[expected].name.hasSameBytes(as: name), !members[expected].isSuperseded { return expected }
    }
    if let index = objects[number].index { return find(name, ByteHash.of(name), in: index) }
    return find(name, from: objects[number].first, before: objects[number].end)
  }

  mutating func setEdit(_ edit: Int, of member: Int) { members[member].edit = Int32(edit) }

  private mutating func forget() {
    comparedNames = 0
    members.removeAll(keepingCapacity: members.capacity <= PatchTree.usualCapacity)
    objects.removeAll(keepingCapacity: objects.capacity <= PatchTree.usualCapacity)
    open.removeAll(keepingCapacity: open.capacity <= PatchTree.usualCapacity)
  }

  // MARK: Members that count

  /// Finds the duplicates among an object's members, once all are read.
  private mutating func close(_ number: Int) {
    let first = objects[number].first
    let end = members.count
    objects[number].end = end
    var count = 0
    var member = first
    while member < end {
      count += 1
      member = Int(members[member].next)
    }
    let index = count > PatchTree.mostUnindexed ? MemberIndex(capacity: count) : nil
    objects[number].index = index
    member = first
    while member < end {
      let name = members[member].name
      let earlier =
        if let index { exchange(name, member, in: index) } else { find(name, from: first, before: member) }
      if let earlier { supersede(earlier, number) }
      if members[member].isNull {
        objects[number].isPlain = false
      } else {
        objects[number].resultCount += 1
      }
      member = Int(members[member].next)
    }
  }

  private mutating func supersede(_ member: Int, _ number: Int) {
    members[member].isSuperseded = true
    objects[number].isPlain = false
    if !members[member].isNull { objects[number].resultCount -= 1 }
  }

  @inline(__always)
  private mutating func find(_ name: ByteSpan, from first: Int, before end: Int) -> Int? {
    var member = first
    while member < end {
      comparedNames &+= 1
      if members[member].name.hasSameBytes(as: name), !members[member].isSuperseded { return member }
      member = Int(members[member].next)
    }
    return nil
  }

  /// Puts a member into an index; returns the earlier member of the same name.
  private mutating func exchange(_ name: ByteSpan, _ member: Int, in index: MemberIndex) -> Int? {
    let hash = ByteHash.of(name)
    let earlier = find(name, hash, in: index)
    if let earlier { index.table.remove(name, hash, UInt32(earlier)) }
    index.table.insert(name, hash, UInt32(member)) { members[Int($0)].name }
    return earlier
  }

  private mutating func find(_ name: ByteSpan, _ hash: UInt32, in index: MemberIndex) -> Int? {
    var compared = 0
    let found = index.table.find(name, hash) { candidate in
      compared += 1
      return members[Int(candidate)].name
    }
    comparedNames &+= compared
    return found.map(Int.init)
  }
}
