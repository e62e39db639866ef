import FeedStore

extension TopicRequirements {
  /// Checks the settings of a topic.
  func settings(
    _ topic: String,
    _ role: TopicRole,
    _ state: TopicState,
    _ states: [String: TopicState]
  ) -> [TopicRequirement] {
    let settings = TopicSettings(topic: topic, state: state)
    switch role {
    case .input: return input(settings)
    case .changesets: return changesets(settings)
    case .rejected: return rejected(settings, states)
    }
  }

  private func input(_ settings: TopicSettings) -> [TopicRequirement] {
    [
      settings.policy(.must, "delete", "compaction removes updates before they are read") {
        !$0.contains("compact")
      },
      settings.number(
        .should,
        .retentionTime,
        "\(Self.retentionMilliseconds) or more, or -1",
        "updates that are not read in time, such as after an outage, are lost"
      ) { $0 < 0 || $0 >= Self.retentionMilliseconds },
      settings.number(.should, .retentionBytes, "-1", "a burst deletes updates before they are read") {
        $0 < 0
      },
    ]
  }

  private func changesets(_ settings: TopicSettings) -> [TopicRequirement] {
    [
      settings.policy(
        .must,
        "compact",
        "it is the only store of the feeds: it must keep the latest record of each key"
      ) {
        $0 == ["compact"]
      },
      settings.number(
        .must,
        .messageBytes,
        "\(changesetBytes) or more",
        "changesets, and batches of them, may be that large"
      ) { $0 >= changesetBytes },
      settings.fraction(
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
      ) { $0 <= Self.segmentMilliseconds },
      settings.number(
        .should,
        .deletionTime,
        "\(Self.deletionMilliseconds) or more",
        "a reader that takes longer from the beginning keeps feeds that were deleted meanwhile"
      ) { $0 >= Self.deletionMilliseconds },
    ]
  }

  private func rejected(_ settings: TopicSettings, _ states: [String: TopicState]) -> [TopicRequirement] {
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
      ) { $0 >= needed },
    ]
  }
}
