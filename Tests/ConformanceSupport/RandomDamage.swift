@testable import Oracle

/// Damages logs at random: records are changed, lost, repeated, out of order, or of another epoch.
public struct RandomDamage {
  private var random: SplitMix64

  public init(seed: UInt64) { random = SplitMix64(seed: seed) }

  /// The log with some damage, about one record in twelve.
  public mutating func damaged(_ log: ChangesetLog) -> ChangesetLog {
    var log = log
    for _ in 0..<(1 + log.lines.count / 12) where log.lines.count > 1 { damage(&log.lines) }
    return log
  }

  /// The records of logs in the form of the vectors, without the states, each log in a partition of its own.
  public static func text(of logs: [ChangesetLog]) -> [UInt8] {
    StoreVector.lines(
      logs.enumerated().flatMap { partition, log in
        log.lines.enumerated().map { offset, line in
          var text = OracleText()
          text.add("{\"partition\":\(partition),\"offset\":\(offset),")
          text.add(ReplicaVector.bytes("key", line.key))
          text.add(",")
          text.add(line.value.map { ReplicaVector.bytes("payload", $0) } ?? Array("\"payload\":null".utf8))
          text.add("}")
          return text.bytes
        }
      }
    )
  }

  private mutating func damage(_ lines: inout [ChangesetLog.Line]) {
    let at = random.below(lines.count)
    switch random.below(12) {
    case 0: lines.remove(at: at)
    case 1: lines.insert(lines[at], at: at)
    case 2: lines.insert(lines[at], at: random.below(lines.count))
    case 3: lines.swapAt(at, min(at + 1, lines.count - 1))
    case 4: lines.swapAt(at, random.below(lines.count))
    // The follower goes back.
    case 5: lines.insert(contentsOf: lines[max(0, at - random.below(8))...at], at: at)
    case 6:
      lines[at].value =
        random.chance(50) ? nil : Array(["", "{}", "[]", "null", "{\"feed\":"][random.below(5)].utf8)
    case 7: lines[at].key = key(lines[at].key, other: lines[random.below(lines.count)].key)
    default: lines[at].value = lines[at].value.map { value($0) }
    }
  }

  /// The same feed under another key, or another feed.
  private mutating func key(_ key: [UInt8], other: [UInt8]) -> [UInt8] {
    guard let slash = key.firstIndex(of: UInt8(ascii: "/")), random.chance(70) else { return other }
    return Array(["k0", "k1", "d1", "d2", "d99", "d0", "x1"][random.below(7)].utf8) + key[slash...]
  }

  /// A changeset with another field, entry or byte.
  private mutating func value(_ value: [UInt8]) -> [UInt8] {
    if random.chance(20) {
      var value = value
      // No letter or sign that makes another spelling of a number.
      let bytes = Array("abcxyz0123456789{}[]\",:\\ ".utf8)
      if !value.isEmpty { value[random.below(value.count)] = bytes[random.below(bytes.count)] }
      return value
    }
    let changes: [(String, [String])] = [
      ("\"epoch\":\"", ["\"epoch\":\"x", "\"epoch\":7,\"e\":\""]),
      ("\"revision\":", ["\"revision\":1", "\"r\":"]),
      ("\"base\":", ["\"base\":1", "\"b\":"]), ("\"part\":", ["\"part\":1", "\"p\":"]),
      ("\"parts\":", ["\"parts\":1", "\"q\":"]), ("\"checksum\":\"", ["\"checksum\":\"0", "\"c\":\""]),
      (
        "\"mode\":\"diff\"",
        ["\"mode\":\"reconfigure\"", "\"mode\":\"delete\"", "\"mode\":\"reload\"", "\"mode\":7"]
      ),
      ("\"mode\":\"reload\"", ["\"mode\":\"diff\"", "\"mode\":\"delete\""]),
      ("\"mode\":\"reconfigure\"", ["\"mode\":\"diff\"", "\"mode\":\"new\""]),
      ("\"reason\":\"", ["\"reason\":\"new-", "\"reason\":7,\"x\":\""]), ("\"time\":", ["\"t\":"]),
      ("\"through\":{", ["\"through\":{\"a\":\"b\",", "\"through\":{\"a\":7,", "\"x\":{"]),
      ("\"index\":", ["\"index\":1", "\"i\":", "\"index\":-", "\"index\":\"0\",\"x\":"]),
      ("\"section\":\"", ["\"section\":\"x", "\"section\":7,\"x\":\""]),
      ("\"id\":\"", ["\"id\":\"x", "\"x\":\""]),
      ("\"kind\":\"", ["\"kind\":\"x", "\"y\":\""]), ("\"data\":", ["\"x\":", "\"data\":7,\"x\":"]),
      ("\"from\":", ["\"x\":"]), ("\"to\":", ["\"x\":"]), ("\"items\":", ["\"x\":", "\"items\":7,\"x\":"]),
      ("\"sections\":", ["\"x\":", "\"sections\":null,\"x\":"]),
      ("\"move\":[", ["\"delete\":[", "\"move\":{},\"x\":["]),
      ("\"insert\":[", ["\"reload\":[", "\"insert\":7,\"x\":["]), ("\"delete\":[", ["\"x\":["]),
      ("\"reconfigure\":[", ["\"reload\":[", "\"x\":["]), ("\"feed\":\"", ["\"feed\":\"x"]),
    ]
    let (text, others) = changes[random.below(changes.count)]
    let pieces = value.split(separator: Array(text.utf8), omittingEmptySubsequences: false)
    // One of the places where it stands, which may also be in data.
    guard pieces.count > 1 else { return value }
    let place = 1 + random.below(pieces.count - 1)
    var changed = Array(pieces[0])
    for (number, piece) in pieces.dropFirst().enumerated() {
      changed += Array((number + 1 == place ? others[random.below(others.count)] : text).utf8) + piece
    }
    return changed
  }
}
