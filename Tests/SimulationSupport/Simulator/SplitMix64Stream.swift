import Oracle

/// Random numbers that belong to a name: those of others are not changed by how many are drawn here.
public struct SplitMix64Stream {
  private var generator: SplitMix64

  public init(seed: UInt64, _ name: String) {
    // FNV-1a.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ seed
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    generator = SplitMix64(seed: hash)
  }

  /// A number from 0 up to `count`, which is left out.
  public mutating func below(_ count: Int64) -> Int64 { Int64(generator.next() % UInt64(count)) }

  public mutating func chance(_ percent: Int) -> Bool { generator.chance(percent) }
}
