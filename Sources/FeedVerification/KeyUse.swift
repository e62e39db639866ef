import Feed

/// What the keys of a feed's epoch hold, and when a keyframe is due.
struct KeyUse {
  /// Delta records since the last reload, and the bytes of their values.
  private(set) var deltas = 0
  private(set) var deltaBytes = 0
  /// Values of the last reload, and their bytes.
  private(set) var reloadParts = 0
  private(set) var reloadBytes = 0
  /// The largest delta number that was used, as far as is known.
  private(set) var highestDelta = 0

  mutating func noteDelta(bytes: Int) {
    deltas += 1
    deltaBytes += bytes
    highestDelta = max(highestDelta, deltas)
  }

  /// Notes a complete reload.
  ///
  /// - Returns: the `k` keys that it leaves over.
  mutating func noteReload(parts: Int, bytes: Int) -> Range<Int> {
    let surplus = parts..<max(parts, reloadParts)
    deltas = 0
    deltaBytes = 0
    reloadParts = parts
    reloadBytes = bytes
    return surplus
  }

  /// The keys that are to be nulled once the feed's deletion is noted as a delta.
  ///
  /// - Parameter isWhole: whether the epoch was read from its beginning. If not, larger numbers may have been
  ///   used, and of those in between some may be null already.
  func deletion(isWhole: Bool) -> NullsDue {
    NullsDue(reloads: 0..<reloadParts, deltas: 1..<(isWhole ? highestDelta : deltas) + 1)
  }

  /// Why a keyframe is due; nil if none is.
  ///
  /// - Parameter keyframeBytes: bytes of the keyframe as one value.
  func keyframeReason(_ policy: KeyframePolicy, keyframeBytes: Int) -> String? {
    if deltas >= policy.maxDeltas, Double(keyframeBytes) <= policy.maxBytesRatio * Double(deltaBytes) {
      return "\(deltas) delta records since the reload, keyframe.maxDeltas is \(policy.maxDeltas)"
    }
    if Double(deltaBytes) > policy.maxBytesRatio * Double(reloadBytes) {
      return "\(deltaBytes) bytes of delta records since the reload of \(reloadBytes) bytes, "
        + "keyframe.maxBytesRatio is \(policy.maxBytesRatio)"
    }
    return nil
  }
}

/// The keys that have to be nulled next: of the parts that a reload has no use for any more, or of a feed that
/// was deleted.
struct NullsDue {
  /// Numbers of `k` keys, and of `d` keys, which come after them.
  var reloads: Range<Int>
  var deltas = 0..<0

  var isEmpty: Bool { reloads.isEmpty && deltas.isEmpty }

  /// The next key without the feed's id, as in `d7/`.
  var next: String { reloads.first.map { "k\($0)/" } ?? "d\(deltas.first ?? 0)/" }

  /// Whether a key is the next; if so, another one is.
  mutating func take(_ key: RecordKey) -> Bool {
    switch key.kind {
    case .reload where key.number == reloads.first:
      reloads.removeFirst()
      return true
    case .delta where reloads.isEmpty && key.number == deltas.first:
      deltas.removeFirst()
      return true
    default: return false
    }
  }
}
