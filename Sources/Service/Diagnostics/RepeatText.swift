/// Normalises texts, so that repetitions can be recognised.
enum RepeatText {
  /// Units after a number that only says how long or how often, as in librdkafka's `Connection refused (after 12ms in
  /// state CONNECT, 3 identical error(s) suppressed)`.
  private static let words: [[UInt8]] = [
    "ms", "us", "µs", "s", "seconds", "request(s)", "in-flight", "retry-queued", "out-queue",
    "partially-sent",
  ].map { Array($0.utf8) }
  private static let timeout = Array("timeout #".utf8)
  private static let suppressed = Array(" identical error(s) suppressed".utf8)
  private static let comma = Array(", ".utf8)

  /// The text without such numbers, and without librdkafka's note on earlier errors. Other numbers stay, because they
  /// identify brokers, partitions, offsets and codes.
  static func comparable(_ text: String) -> String {
    var text = text
    return text.withUTF8 { bytes in
      var result: [UInt8] = []
      result.reserveCapacity(bytes.count)
      var index = 0
      while index < bytes.count {
        let start = index
        while index < bytes.count, isDigit(bytes[index]) || index > start && bytes[index] == 0x2E {
          index += 1
        }
        if index == start {
          result.append(bytes[index])
          index += 1
        } else if bytes[index...].starts(with: suppressed), result.suffix(2).elementsEqual(comma) {
          result.removeLast(2)
          index += suppressed.count
        } else if isAmount(bytes, start, index) || result.suffix(timeout.count).elementsEqual(timeout) {
          result.append(UInt8(ascii: "0"))
        } else {
          result += bytes[start..<index]
        }
      }
      return String(decoding: result, as: UTF8.self)
    }
  }

  /// Whether a number stands alone and is followed by one of these units, optionally after a space.
  private static func isAmount(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
    if start > 0, isPartOfName(bytes[start - 1]) { return false }
    let space = end < bytes.count && bytes[end] == 0x20 ? 1 : 0
    return words.contains { word in
      let wordEnd = end + space + word.count
      guard wordEnd <= bytes.count, bytes[(end + space)..<wordEnd].elementsEqual(word) else { return false }
      return wordEnd == bytes.count || !isPartOfName(bytes[wordEnd])
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  private static func isPartOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80..., UInt8(ascii: "_"), UInt8(ascii: "-"),
      UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "#"), UInt8(ascii: "."):
      true
    default: false
    }
  }
}
