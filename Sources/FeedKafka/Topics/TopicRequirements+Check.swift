extension TopicRequirements {
  package func check(_ states: [String: TopicState]) -> [TopicRequirement] {
    roles.flatMap { topic, role in
      let settings = TopicSettings(topic: topic, state: states[topic] ?? TopicState())
      return [partitions(topic, role, settings.state, states)] + check(settings, role, states)
    }
  }

  // MARK: Partitions

  private func partitions(
    _ topic: String,
    _ role: TopicRole,
    _ state: TopicState,
    _ states: [String: TopicState]
  ) -> TopicRequirement {
    let most = topics.inputs.compactMap { states[$0]?.partitions }.max()
    var (verdict, reason, remedy) = (TopicRequirement.Verdict.met, "", "")
    switch (role, state.partitions, most) {
    case (_, nil, _):
      verdict = .must
      reason = "the topic does not exist, or may not be described"
      remedy = "create it with: feedstore topics --create"
    case (.input, let count?, let most?) where count < most:
      verdict = .must
      reason = "a feed's records must have the same partition number in both inputs"
      remedy = """
        add partitions up to \(most) with: kafka-topics --alter --topic \(topic) --partitions \(most); existing feeds \
        whose keys then hash to another partition start over there
        """
    case (.changesets, let count?, let most?) where count < most:
      verdict = .must
      reason = "changesets go to the partition of their input"
      remedy = "add partitions up to \(most) with: kafka-topics --alter --topic \(topic) --partitions \(most)"
    case (.changesets, let count?, let most?) where count > most:
      verdict = .should
      reason = "changesets go to the partition of their input"
      remedy = "no action is needed, but followers read partitions that stay empty"
    default: break
    }
    return TopicRequirement(
      topic: topic,
      kind: .partitions,
      verdict: verdict,
      actual: state.partitions.map { "\($0)" } ?? "missing",
      needed: role.hasFreePartitions && state.exists ? "1 or more" : "\(most ?? Self.defaultPartitions)",
      reason: reason,
      remedy: remedy
    )
  }

  // MARK: Settings

  private func check(
    _ settings: TopicSettings,
    _ role: TopicRole,
    _ states: [String: TopicState]
  ) -> [TopicRequirement] {
    switch role {
    case .input:
      return [
        settings.policy(.must, "delete", "compaction removes updates before they are read") {
          !$0.contains("compact")
        },
        settings.number(
          .should,
          .retentionTime,
          "\(Self.retentionMilliseconds) or more, or -1",
          "updates that are not read in time, such as after an outage, are lost"
        ) { $0 < 0 || $0 >= Double(Self.retentionMilliseconds) },
        settings.number(.should, .retentionBytes, "-1", "a burst deletes updates before they are read") {
          $0 < 0
        },
      ]
    case .changesets:
      return [
        settings.policy(
          .must,
          "compact",
          "it is the only store of the feeds: it must keep the latest record of each key"
        ) { $0 == ["compact"] },
        settings.number(
          .must,
          .messageBytes,
          "\(changesetBytes) or more",
          "changesets, and batches of them, may be that large"
        ) { $0 >= Double(changesetBytes) },
        settings.number(
          .should,
          .dirtyRatio,
          "\(Self.dirtyRatio) or less",
          "readers that start at the beginning have less to skip"
        ) { $0 <= Self.dirtyRatio },
        settings.number(
          .should,
          .segmentTime,
          "\(Self.segmentMilliseconds) or less",
          "the active segment is not compacted"
        ) { $0 <= Double(Self.segmentMilliseconds) },
        settings.number(
          .should,
          .deletionTime,
          "\(Self.deletionMilliseconds) or more",
          "a reader that takes longer from the beginning keeps feeds that were deleted meanwhile"
        ) { $0 >= Double(Self.deletionMilliseconds) },
      ]
    case .rejected:
      let needed = rejectedBytes(states) ?? batchBytes
      let isTooSmallForBatches = settings.state.integer("max.message.bytes").map { $0 < batchBytes } ?? false
      return [
        settings.policy(
          .must,
          "delete",
          "a compacted topic refuses records without a key, and keeps only one per feed"
        ) { !$0.contains("compact") },
        settings.number(
          isTooSmallForBatches ? .must : .should,
          .messageBytes,
          "\(needed) or more",
          "a rejected record is as large as the inputs allow, plus its headers"
        ) { $0 >= Double(needed) },
      ]
    case .contents:
      return [
        settings.policy(.must, "compact", "a content is lost if its latest record is deleted") {
          $0 == ["compact"]
        },
        settings.number(
          .should,
          .messageBytes,
          "\(contentsBytes) or more",
          "contents, and batches of them, may be that large"
        ) { $0 >= Double(contentsBytes) },
      ]
    }
  }
}

/// The settings of one topic, compared with the requirements.
private struct TopicSettings {
  let topic: String
  let state: TopicState

  /// - Parameter isMet: receives the policies, sorted.
  func policy(
    _ severity: TopicRequirement.Verdict,
    _ needed: String,
    _ reason: String,
    isMet: ([Substring]) -> Bool
  ) -> TopicRequirement {
    let policies = state.settings?["cleanup.policy"].map { text in
      text.split { $0 == "," || $0 == " " }.sorted()
    }
    return requirement(.cleanupPolicy, severity, needed, reason, policies.map(isMet))
  }

  func number(
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
