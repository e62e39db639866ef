public import Feed

/// How the latest changeset of a feed was published, and why.
public struct LastChangeset: Sendable, Equatable {
  public let mode: ChangesetMode
  /// Why it is a reload; nil for other modes.
  public let reason: ReloadReason?
  /// The figures in the header `feedstore.plan`; nil if the header is absent or not valid.
  public let plan: ChangesetPlan?

  public init(mode: ChangesetMode, reason: ReloadReason?, plan: ChangesetPlan?) {
    self.mode = mode
    self.reason = reason
    self.plan = plan
  }
}
