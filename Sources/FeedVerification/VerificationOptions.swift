public import Feed

/// What changesets are verified against.
public struct VerificationOptions: Sendable, Equatable {
  /// The settings with which they were written.
  public var keyframes: KeyframePolicy
  public var output: OutputOptions
  /// Whether older records may be gone, as in a compacted topic: a gap is then a fault only if no later reload
  /// closes it.
  public var mayBeCompacted: Bool
  /// Whether `through` may begin again for an input topic, as it does in the daemon's topic after input that was lost.
  var mayForgetInput: Bool { mayBeCompacted }
  /// Whether the header `feedstore.plan` must stand wherever a plan was weighed. A topic may still hold changesets of
  /// versions that did not write it.
  public var requiresPlans = true

  public init(keyframes: KeyframePolicy, output: OutputOptions, mayBeCompacted: Bool = false) {
    self.keyframes = keyframes
    self.output = output
    self.mayBeCompacted = mayBeCompacted
  }
}
