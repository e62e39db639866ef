/// When a changeset is published as a full reload instead of a difference.
public struct PlannerThresholds: Sendable, Equatable {
  /// Reload when the weight (entries other than `reconfigure`) is greater than this, if ``maxReloadRatio`` allows it.
  public var maxChanges = 5000
  /// Reload when weight divided by the larger item count is greater than this, if ``maxReloadRatio`` allows it.
  public var maxChangedFraction = 0.5
  /// A large weight is no reason for a reload of more than this many times the difference's bytes.
  public var maxReloadRatio = 3.0
  /// The fractions apply only to feeds of at least this many items, before or after.
  public var minimumItems = 50
  /// Reload when the items that changed their kind are more than this fraction of the resulting items.
  public var maxKindFraction = 0.5
  /// Reload when the difference's bytes are more than this many times the reload's.
  public var maxBytesRatio = 1.5

  public init() {}
}
