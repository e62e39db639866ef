import Oracle

/// Random choices, determined by a seed.
typealias FuzzRandom = SplitMix64

extension SplitMix64 {
  mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }
}
