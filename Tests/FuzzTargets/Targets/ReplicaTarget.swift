import Feed
import FeedChecks
import Oracle

extension FuzzTarget {
  static let changesetTokens = [
    "\"feed\":\"f\"", "\"epoch\":", "\"revision\":", "\"base\":", "\"part\":", "\"parts\":", "\"mode\":",
    "\"reload\"", "\"diff\"", "\"reconfigure\"", "\"delete\"", "\"reason\":", "\"initial\"", "\"keyframe\"",
    "\"time\":", "\"through\":{", "\"checksum\":\"00000000\"", "\"sections\":", "\"items\":", "\"insert\":[",
    "\"move\":[", "\"reload\":[", "\"reconfigure\":[", "\"delete\":[", "\"from\":{", "\"to\":{", "\"index\":",
    "\"section\":", "\"id\":", "\"kind\":", "\"data\":", "k0/f\t", "k1/f\t", "d1/f\t", "d2/f\t", "\nk0/f\n",
    "d999999999/f\t",
  ]

  /// Records of the changesets topic, read by a follower.
  ///
  /// - An invalid record changes nothing, but its feed is stale.
  /// - A changeset that does not fit leaves the feed, its revision and its epoch unchanged.
  /// - A store can continue from the final state, or reports what is missing.
  static let replica = FuzzTarget(
    "replica",
    tokens: changesetTokens,
    generate: GeneratedChangesets.input
  ) { input throws(FuzzFailure) in
    let replicas = ReplicaPartition()
    for line in ChangesetLine.repaired(input) {
      let before = try ReplicaContent(replicas)
      let outcome = replicas.take(line)
      let after = try ReplicaContent(replicas)
      for replica in replicas.replicas { replica.checkInvariants() }
      switch outcome {
      case .failure(let fault):
        try expect(
          before.published == after.published,
          "a record that is refused (\(fault)) changed something"
        )
      case .success(.applied(let change)):
        let id = ByteText(change.feed)
        try expect(after.feeds[id]?.version.revision == change.revision, "an applied revision is not there")
      case .success(.removed(let feed, _)):
        try expect(after.feeds[ByteText(feed)] == nil, "a feed that was removed is there")
      case .success(let other):
        try expect(
          before.published == after.published,
          "a record that is not applied (\(other)) changed a feed"
        )
      }
    }
    try checkTaking(replicas)
  }

  private static func checkTaking(_ replicas: ReplicaPartition) throws(FuzzFailure) {
    let content = try ReplicaContent(replicas)
    let feeds: [PublishedFeed]
    do throws(ReplicaFault) {
      feeds = try replicas.takeFeeds()
    } catch {
      try expect(try ReplicaContent(replicas) == content, "feeds that cannot be taken (\(error)) were taken")
      return
    }
    try expect(
      feeds.count == content.feeds.count,
      "\(feeds.count) feeds were taken of \(content.feeds.count)"
    )
    for feed in feeds {
      feed.checkInvariants()
      let expected = content.feeds[ByteText(feed.id)]
      try expect(
        try feed.snapshot().oracleFeed == expected?.feed,
        "a feed was taken that the replica does not have"
      )
    }
  }
}
