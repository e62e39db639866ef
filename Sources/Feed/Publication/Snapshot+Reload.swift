extension Snapshot {
  /// The content as one changeset of mode `reload` and reason `keyframe`, from which a follower can start with this
  /// revision (protocol, section 4): JSON in UTF-8. O(n).
  ///
  /// - Parameters:
  ///   - feed: the feed's id.
  ///   - version: the revision of the content.
  ///   - timeMilliseconds: the `time` of that revision, since 1970.
  public func reload(of feed: String, version: PublishedVersion, timeMilliseconds: Int64) -> [UInt8] {
    let output = ByteWriter()
    writeReload(of: ByteText(feed), version: version, timeMilliseconds: timeMilliseconds, to: output)
    return Array(output.written.buffer)
  }

  /// Appends the same text to what was written.
  func writeReload(
    of feed: ByteText,
    version: PublishedVersion,
    timeMilliseconds: Int64,
    to output: ByteWriter
  ) {
    feed.withBytes { feed in
      let head = ChangesetHead(
        feed: feed,
        epoch: version.epoch,
        revision: version.revision,
        base: version.revision,
        mode: .reload,
        reason: .keyframe,
        time: timeMilliseconds,
        through: version.through,
        checksum: checksum
      )
      // A part without a limit is everything, however many bytes the head has.
      var writer = ReloadWriter(state, head: head, headBytes: 0, limit: .max)
      _ = writer.writePart(to: output)
    }
  }
}
