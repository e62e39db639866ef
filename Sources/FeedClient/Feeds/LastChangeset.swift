public import Feed

/// How the latest changeset of a feed was published, and why.
public struct LastChangeset: Sendable, Equatable {
  public let mode: ChangesetMode
  /// Why it is a reload; nil for other modes.
  public let reason: ReloadReason?
  /// The figures of the header `feedstore.plan`; nil where there is none, or none that can be read.
  public let plan: ChangesetPlan?

  public init(mode: ChangesetMode, reason: ReloadReason?, plan: ChangesetPlan?) {
    self.mode = mode
    self.reason = reason
    self.plan = plan
  }
}
