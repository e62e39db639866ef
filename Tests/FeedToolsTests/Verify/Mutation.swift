import Oracle

/// A single change to an output.
enum Mutation: CaseIterable {
  /// A letter or digit outside of data is replaced.
  case character
  /// A letter or digit within data is replaced; data has no fixed content.
  case data
  /// A record that later records of its feed depend on is removed; offsets are renumbered.
  case missing
  /// A record is duplicated; offsets are renumbered.
  case twice
  /// Two records of one feed are swapped; offsets are renumbered.
  case swapped

  /// Applies the change somewhere; nil if there is no suitable place.
  func apply(to lines: [String], _ random: inout SplitMix64) -> [String]? {
    var lines = lines
    let at = random.below(lines.count)
    switch self {
    case .character, .data:
      guard let flipped = Self.flip(lines[at], &random) else { return nil }
      let isData = Self.withoutData(flipped) == Self.withoutData(lines[at])
      guard isData == (self == .data) else { return nil }
      lines[at] = flipped
      return lines
    case .twice: lines.insert(lines[at], at: at)
    case .missing, .swapped:
      let feed = Self.feed(lines[at])
      guard let next = lines[(at + 1)...].firstIndex(where: { Self.feed($0) == feed }) else { return nil }
      if self == .missing { lines.remove(at: at) } else { lines.swapAt(at, next) }
    }
    return VerifiedReplay.renumbered(lines)
  }

  /// Replaces a letter or digit by another one.
  private static func flip(_ line: String, _ random: inout SplitMix64) -> String? {
    var bytes = Array(line.utf8)
    let at = random.below(bytes.count)
    let byte = bytes[at]
    let others: String
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): others = "0123456789"
    case UInt8(ascii: "a")...UInt8(ascii: "z"): others = "abcdefghijklmnopqrstuvwxyz"
    default: return nil
    }
    bytes[at] = random.pick(others.utf8.filter { $0 != byte })
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Replaces some bytes of a line by random JSON characters.
  static func garble(_ line: String, _ random: inout SplitMix64) -> String {
    var bytes = Array(line.utf8)
    for _ in 0...random.below(3) {
      bytes[random.below(bytes.count)] = random.pick(Array("{}[]\",:\\ 0189-.eEabtnu/kd@\u{1}".utf8))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The partition and feed of a line; the line itself if it is invalid.
  private static func feed(_ line: String) -> [[UInt8]] {
    guard let json = try? OracleJSON.parse(Array(line.utf8)), let partition = json.last("partition"),
      let key = json.last("key")?.string
    else { return [Array(line.utf8)] }
    return [partition.minified, Array(key.drop { $0 != UInt8(ascii: "/") })]
  }

  /// The line without members named `data`; nil if it is not JSON.
  private static func withoutData(_ line: String) -> [UInt8]? {
    (try? OracleJSON.parse(Array(line.utf8))).map(bytesWithoutData)
  }

  private static func bytesWithoutData(_ json: OracleJSON) -> [UInt8] {
    switch json.content {
    case .array(let elements): return elements.flatMap { bytesWithoutData($0) + [UInt8(ascii: ",")] }
    case .object(let members):
      return members.flatMap { member in
        member.rawName + (member.name == Array("data".utf8) ? [] : bytesWithoutData(member.value))
      }
    default: return json.minified
    }
  }
}
