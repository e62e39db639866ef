import Oracle

/// Mutates inputs in ways that preserve much of their structure.
public struct InputMutator: Sendable {
  private let tokens: [[UInt8]]
  private let seeds: [[UInt8]]
  private let generate: (@Sendable (inout FuzzRandom) -> [UInt8])?

  public init(_ target: FuzzTarget, seeds: [[UInt8]]) {
    tokens = (target.tokens + InputMutator.numbers + InputMutator.characters).map { Array($0.utf8) }
    self.seeds = seeds
    generate = target.generate
  }

  private static let numbers = [
    "0", "-0", "1", "-1", "255", "256", "65536", "2147483647", "2147483648", "4294967296", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e400", "0.1", "1E2", "01",
    "00000000",
  ]
  private static let characters = [
    "{", "}", "[", "]", ":", ",", "\"", "\\", "\n", " ", "\t", "\r", "null", "true", "\\u0000", "\\ud800",
    "\\ud83d\\ude00", "\u{e9}", "e\u{301}", "\u{1F600}", "\u{feff}", "\u{0}", "%",
  ]
  private static let strangeBytes: [UInt8] = [
    0x00, 0x1F, 0x7F, 0x80, 0xBF, 0xC0, 0xC3, 0xED, 0xF0, 0xF4, 0xFF,
  ]

  /// A mutated seed, sometimes unchanged.
  func next(_ random: inout FuzzRandom) -> [UInt8] {
    var input = seeds.isEmpty ? [] : random.pick(seeds)
    for _ in 0..<random.below(random.chance(20) ? 20 : 5) { change(&input, &random) }
    return Array(input.prefix(FuzzTarget.maxInputBytes))
  }

  /// The input with one or a few mutations. If the target can generate inputs, sometimes a generated one with none to two.
  public func changed(_ input: [UInt8], seed: UInt64) -> [UInt8] {
    var (input, random) = (input, FuzzRandom(seed: seed))
    var count = 1 + random.below(3)
    if let generate, random.chance(10) { (input, count) = (generate(&random), random.below(3)) }
    for _ in 0..<count { change(&input, &random) }
    return input
  }

  private func change(_ input: inout [UInt8], _ random: inout FuzzRandom) {
    let place = random.below(input.count + 1)
    let end = place + random.below(min(input.count - place, random.chance(80) ? 12 : 400) + 1)
    switch random.below(12) {
    case 0: input.removeSubrange(place..<end)
    case 1: input.insert(contentsOf: random.pick(tokens), at: place)
    case 2: input.replaceSubrange(place..<end, with: random.pick(tokens))
    case 3: input.insert(contentsOf: input[place..<end], at: random.below(input.count + 1))
    case 4: if place < input.count { input[place] ^= 1 << UInt8(random.below(8)) }
    case 5: if place < input.count { input[place] = random.byte() }
    case 6: input.insert(random.pick(InputMutator.strangeBytes), at: place)
    case 7: replaceWord(&input, near: place, &random)
    case 8: swapLines(&input, &random)
    case 9: splice(&input, at: place, &random)
    case 10: nest(&input, place, end, &random)
    default: input.removeLast(random.below(min(input.count, 30) + 1))
    }
  }

  /// Replaces a string or a number.
  private func replaceWord(_ input: inout [UInt8], near place: Int, _ random: inout FuzzRandom) {
    func isEnd(_ byte: UInt8) -> Bool { "\"{}[],:\n\t ".utf8.contains(byte) }
    guard let start = input[place...].firstIndex(where: { !isEnd($0) }) else { return }
    let end = input[start...].firstIndex(where: isEnd) ?? input.endIndex
    if random.chance(50), let other = seeds.isEmpty ? nil : random.pick(seeds), !other.isEmpty {
      let from = random.below(other.count)
      if let first = other[from...].firstIndex(where: { !isEnd($0) }) {
        let last = other[first...].firstIndex(where: isEnd) ?? other.endIndex
        return input.replaceSubrange(start..<end, with: other[first..<last])
      }
    }
    input.replaceSubrange(start..<end, with: random.pick(tokens))
  }

  private func swapLines(_ input: inout [UInt8], _ random: inout FuzzRandom) {
    var lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    guard lines.count > 1 else { return }
    switch random.below(3) {
    case 0: lines.swapAt(random.below(lines.count), random.below(lines.count))
    case 1: lines.remove(at: random.below(lines.count))
    default: lines.insert(random.pick(lines), at: random.below(lines.count))
    }
    input = Array(lines.joined(separator: [UInt8(ascii: "\n")]))
  }

  private func splice(_ input: inout [UInt8], at place: Int, _ random: inout FuzzRandom) {
    guard !seeds.isEmpty else { return }
    let other = random.pick(seeds)
    let from = random.below(other.count + 1)
    let to = from + random.below(other.count - from + 1)
    input.insert(contentsOf: other[from..<to], at: place)
  }

  /// Puts brackets around a part, sometimes many.
  private func nest(_ input: inout [UInt8], _ start: Int, _ end: Int, _ random: inout FuzzRandom) {
    let depth = random.chance(90) ? 1 : random.below(600)
    let isArray = random.chance(50)
    let part = Array(input[start..<end])
    let opening = Array((isArray ? "[" : "{\"a\":").utf8)
    let closing = UInt8(ascii: isArray ? "]" : "}")
    let nested =
      Array(repeatElement(opening, count: depth).joined()) + part + Array(repeating: closing, count: depth)
    input.replaceSubrange(start..<end, with: nested)
  }
}
