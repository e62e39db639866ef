import Feed

/// The keys that a feed's epoch uses, and when a keyframe is due.
struct KeyUse {
  /// The number of delta records since the last reload, and the bytes of their values.
  private(set) var deltas = 0
  private(set) var deltaBytes = 0
  /// The number of values of the last reload, and their bytes.
  private(set) var reloadParts = 0
  private(set) var reloadBytes = 0
  /// The largest delta number that is known to have been used.
  private(set) var highestDelta = 0

  mutating func noteDelta(bytes: Int) {
    deltas += 1
    deltaBytes += bytes
    highestDelta = max(highestDelta, deltas)
  }

  /// Records a complete reload.
  ///
  /// - Returns: the `k` keys that it no longer uses.
  mutating func noteReload(parts: Int, bytes: Int) -> Range<Int> {
    let surplus = parts..<max(parts, reloadParts)
    deltas = 0
    deltaBytes = 0
    reloadParts = parts
    reloadBytes = bytes
    return surplus
  }

  /// The keys that must be nulled after the record that deletes the feed.
  ///
  /// - Parameter isWhole: whether the epoch was read from its beginning. Otherwise, larger numbers may have
  ///   been used, and some of the smaller ones may be null already.
  func deletion(isWhole: Bool) -> NullsDue {
    NullsDue(reloads: 0..<reloadParts, deltas: 1..<(isWhole ? highestDelta : deltas) + 1)
  }

  /// The reason why a keyframe is due; nil if none is.
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

/// The keys that must be nulled next: the surplus parts of an earlier reload, or all keys of a deleted feed.
struct NullsDue {
  /// The numbers of `k` keys, and of `d` keys, which follow them.
  var reloads: Range<Int>
  var deltas = 0..<0

  var isEmpty: Bool { reloads.isEmpty && deltas.isEmpty }

  /// The next key without the feed's id, as in `d7/`.
  var next: String { reloads.first.map { "k\($0)/" } ?? "d\(deltas.first ?? 0)/" }

  /// Whether a key is the next one; if so, it is removed.
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
