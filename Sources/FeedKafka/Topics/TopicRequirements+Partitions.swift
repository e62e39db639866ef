import FeedStore

extension TopicRequirements {
  /// Checks each topic against its requirements.
  package func check(_ states: [String: TopicState]) -> [TopicRequirement] {
    roles.flatMap { topic, role in
      let state = states[topic] ?? TopicState()
      return [partitions(topic, role, state, states)] + settings(topic, role, state, states)
    }
  }

  /// The largest number of partitions among the input topics; nil if there is none.
  private func inputPartitions(_ states: [String: TopicState]) -> Int32? {
    topics.inputs.compactMap { states[$0]?.partitions }.max()
  }

  private func partitions(
    _ topic: String,
    _ role: TopicRole,
    _ state: TopicState,
    _ states: [String: TopicState]
  ) -> TopicRequirement {
    let most = inputPartitions(states)
    let needed = most.map { "\($0)" } ?? "\(Self.defaultPartitions)"
    func requirement(
      _ verdict: TopicRequirement.Verdict,
      _ reason: String,
      _ remedy: String
    )
      -> TopicRequirement
    {
      TopicRequirement(
        topic: topic,
        kind: .partitions,
        verdict: verdict,
        actual: state.partitions.map { "\($0)" } ?? "missing",
        needed: role == .rejected && state.exists ? "1 or more" : needed,
        reason: reason,
        remedy: remedy
      )
    }
    guard let partitions = state.partitions else {
      return requirement(
        .must,
        "the topic does not exist, or may not be described",
        "create it with: feedstore topics --create"
      )
    }
    switch (role, most) {
    case (.input, let most?) where partitions < most:
      return requirement(
        .must,
        "a feed's records must have the same partition number in both inputs",
        """
        add partitions up to \(most) with: kafka-topics --alter --topic \(topic) --partitions \(most); existing feeds \
        whose keys then hash to another partition start over there
        """
      )
    case (.changesets, let most?) where partitions < most:
      return requirement(
        .must,
        "changesets go to the partition of their input",
        "add partitions up to \(most) with: kafka-topics --alter --topic \(topic) --partitions \(most)"
      )
    case (.changesets, let most?) where partitions > most:
      return requirement(
        .should,
        "changesets go to the partition of their input",
        "no action is needed, but followers read partitions that stay empty"
      )
    default:
      return requirement(.met, "", "")
    }
  }
}
