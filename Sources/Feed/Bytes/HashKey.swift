internal import CXxhash

/// A secret key that chooses a hash function from a family with few collisions.
///
/// Identifiers come from untrusted producers. Without the key, no one can compute texts that collide, which
/// is proven: any two different texts of at most 256 bytes have equal hashes under one key in 2³². The family
/// is *multilinear hashing* by halves of multiplications, which is strongly universal (Lemire and Kaser,
/// "Strongly universal string hashing is fast", 2014): a text is cut into words of 32 bits, and (k₁ + n·k₂ +
/// Σ (k + word)·(k′ + next word)) mod 2⁶⁴ has random upper bits for each two texts, with n the number of
/// bytes. A fixed bijection of these 32 bits then scatters hashes of similar texts, which would otherwise be
/// evenly spaced and slow down linear probing.
///
/// Longer texts, which are names of members only, are first reduced to 61 bits by a polynomial at a random point modulo
/// 2⁶¹ − 1 (Carter and Wegman, 1981): two of them of m bytes collide there with a probability of at most (m/7 + 2)/2⁶¹.
///
/// XXH3 with a random secret costs as much and has no proof; its products of words depend on the secret only
/// by exclusive-or, and it adds half of each stripe of a long text without any secret. SipHash-1-3 costs
/// three times as much for 16 bytes. Neither is needed because the hashes stay secret.
struct HashKey {
  /// The point of the polynomial, `k₁`, `k₂`, and two words for each eight bytes.
  private let words: UnsafeMutablePointer<UInt64>

  /// The number of words of a key.
  static let wordCount = 3 + maxShortBytes / 4
  /// Longer texts are reduced first.
  private static let maxShortBytes = 256
  private static let pairs = 3
  /// 2⁶¹ − 1, a prime.
  private static let modulus: UInt64 = 1 << 61 - 1

  /// A key from these words; freed with `release`.
  init(words count: some Sequence<UInt64>) {
    words = .allocate(capacity: HashKey.wordCount)
    words.initialize(repeating: 0, count: HashKey.wordCount)
    for (place, word) in zip(0..<HashKey.wordCount, count) { words[place] = word }
  }

  /// A secret key, from the kernel's random numbers.
  static func random() -> HashKey {
    var random = SystemRandomNumberGenerator()
    return HashKey(words: (0..<wordCount).map { _ in random.next() })
  }

  func release() { words.deallocate() }

  @inline(__always)
  func hash(_ bytes: ByteSpan) -> UInt32 {
    let base = UnsafeRawPointer(bytes.base)
    let count = bytes.count
    var sum = words[1] &+ UInt64(truncatingIfNeeded: count) &* words[2]
    if count >= 8 {
      if count > HashKey.maxShortBytes {
        sum &+= term(reduced(bytes), HashKey.pairs)
      } else {
        // The last word may overlap the previous one: with the known length, the hash is still unambiguous.
        var pair = HashKey.pairs
        var offset = 0
        while offset < count - 8 {
          sum &+= term(base.loadUnaligned(fromByteOffset: offset, as: UInt64.self), pair)
          offset += 8
          pair += 2
        }
        sum &+= term(base.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self), pair)
      }
    } else if count >= 4 {
      let first = UInt64(base.loadUnaligned(as: UInt32.self))
      let last = UInt64(base.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self))
      sum &+= term(last << 32 | first, HashKey.pairs)
    } else if count > 0 {
      let word = UInt64(bytes[0]) | UInt64(bytes[count >> 1]) << 8 | UInt64(bytes[count - 1]) << 16
      sum &+= word &* words[HashKey.pairs]
    }
    return HashKey.scattered(UInt32(truncatingIfNeeded: sum >> 32))
  }

  @inline(__always)
  private func term(_ word: UInt64, _ pair: Int) -> UInt64 {
    (words[pair] &+ (word & 0xFFFF_FFFF)) &* (words[pair + 1] &+ word >> 32)
  }

  /// A bijection: the last step of MurmurHash3.
  @inline(__always)
  private static func scattered(_ hash: UInt32) -> UInt32 {
    var hash = hash
    hash ^= hash >> 16
    hash = hash &* 0x85EB_CA6B
    hash ^= hash >> 13
    hash = hash &* 0xC2B2_AE35
    return hash ^ hash >> 16
  }

  /// The polynomial with the text's length and its words of 56 bits as coefficients, by Horner's method.
  @inline(never)
  private func reduced(_ bytes: ByteSpan) -> UInt64 {
    let base = UnsafeRawPointer(bytes.base)
    let point = words[0] & HashKey.modulus
    var value = UInt64(truncatingIfNeeded: bytes.count)
    func add(_ coefficient: UInt64) {
      let product = value.multipliedFullWidth(by: point)
      value = (product.low & HashKey.modulus) &+ (product.high << 3 | product.low >> 61) &+ coefficient
      value = (value & HashKey.modulus) &+ value >> 61
    }
    var offset = 0
    while offset < bytes.count - 8 {
      add(base.loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0xFF_FFFF_FFFF_FFFF)
      offset += 7
    }
    let last = base.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
    add(last & 0xFFFF_FFFF)
    add(last >> 32)
    return value >= HashKey.modulus ? value - HashKey.modulus : value
  }
}

/// The hashes of identifiers, kinds and names for tables: constant within a process, different in the next.
///
/// Output and logs must not depend on them or on the order of a table.
enum ByteHash {
  /// Code that hashes each record keeps a copy: each access here checks whether the key exists.
  nonisolated(unsafe) static let key = HashKey.random()

  @inline(__always)
  static func of(_ bytes: ByteSpan) -> UInt32 { key.hash(bytes) }
}

/// Distinguishes most data without comparing the bytes.
///
/// Not for tables: it has no secret, so anyone can cause equal fingerprints, and more comparisons of bytes.
enum DataFingerprint {
  @inline(__always)
  static func of(_ bytes: ByteSpan) -> UInt32 {
    UInt32(truncatingIfNeeded: feedstore_xxh3(bytes.base, bytes.count))
  }
}
