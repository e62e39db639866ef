/// The settings of one topic, compared with the requirements.
struct TopicSettings {
  let topic: String
  let state: TopicState

  /// - Parameter isMet: receives the policies, sorted.
  func policy(
    _ severity: TopicRequirement.Verdict,
    _ needed: String,
    _ reason: String,
    isMet: ([String]) -> Bool
  ) -> TopicRequirement {
    requirement(.cleanupPolicy, severity, needed, reason, state.cleanupPolicies.map(isMet))
  }

  func number(
    _ severity: TopicRequirement.Verdict,
    _ kind: TopicRequirement.Kind,
    _ needed: String,
    _ reason: String,
    isMet: (Int64) -> Bool
  ) -> TopicRequirement {
    requirement(kind, severity, needed, reason, state.integer(kind.rawValue).map(isMet))
  }

  func fraction(
    _ severity: TopicRequirement.Verdict,
    _ kind: TopicRequirement.Kind,
    _ needed: String,
    _ reason: String,
    isMet: (Double) -> Bool
  ) -> TopicRequirement {
    let value = state.settings?[kind.rawValue].flatMap { Double($0) }
    return requirement(kind, severity, needed, reason, value.map(isMet))
  }

  private func requirement(
    _ kind: TopicRequirement.Kind,
    _ severity: TopicRequirement.Verdict,
    _ needed: String,
    _ reason: String,
    _ isMet: Bool?
  ) -> TopicRequirement {
    let value = needed.prefix { $0 != " " }
    return TopicRequirement(
      topic: topic,
      kind: kind,
      verdict: isMet.map { $0 ? .met : severity } ?? .unknown,
      actual: state.settings?[kind.rawValue],
      needed: needed,
      reason: reason,
      remedy: """
        set it with: kafka-configs --alter --entity-type topics --entity-name \(topic) \
        --add-config \(kind.rawValue)=\(value)
        """
    )
  }
}
