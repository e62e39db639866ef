import Service

/// One who reads a feed's stream, and how far it was sent.
struct StreamReader: Sendable {
  let stream: EventStream
  /// What it was sent last; nil before that, and when that is worth nothing any more.
  private(set) var version: FeedVersion?
  /// Changesets before this offset are not for it.
  private(set) var position: Int64 = 0
  /// Whether it gets the feed's state before anything else.
  private(set) var isLagging = true
  /// Whether it was told that it is up to date since it was sent something.
  var isToldUpToDate = false

  init(_ stream: EventStream) { self.stream = stream }

  /// Goes on after what it has already.
  ///
  /// - Parameters:
  ///   - position: the offset before which nothing is for it but what it missed.
  ///   - missed: what it is sent first.
  mutating func resume(after version: FeedVersion, position: Int64, missed: [StreamedChangeset]) {
    self.version = version
    self.position = 0
    isLagging = false
    for changeset in missed { take(changeset) }
    self.position = position
  }

  /// Sends a changeset that is for it. If there is no room, or something before it is missing, it lags from then
  /// on.
  mutating func take(_ changeset: StreamedChangeset) {
    guard !isLagging, changeset.offset >= position else { return }
    guard changeset.isReload || changeset.base == version else {
      isLagging = true
      return
    }
    version = changeset.version
    isToldUpToDate = false
    for event in changeset.events where !isLagging { isLagging = stream.write(event) == .full }
  }

  /// Sends the feed's state, for all that it has not been sent, and what came after that.
  ///
  /// - Parameter position: the offset before which everything is in what it is sent.
  mutating func take(_ reload: FeedReload, position: Int64, missed: [StreamedChangeset]) {
    // Nothing but a comment can be waiting.
    stream.replaceQueued(with: reload.event(for: stream))
    isToldUpToDate = false
    resume(after: reload.version, position: position, missed: missed)
  }

  /// Notes that the feed is at a version by an offset, however it came there; if it does not have that, it lags
  /// from then on.
  mutating func jump(to version: FeedVersion, position: Int64) {
    guard !isLagging else { return }
    if self.version == version { self.position = position } else { isLagging = true }
  }

  /// Sends a message that is no changeset.
  mutating func tell(_ event: EncodedEvent) {
    guard !isLagging else { return }
    isLagging = stream.write(event) == .full
  }

  /// Waits for the feed's next reload: what it could be sent is old.
  mutating func waitForReload(telling event: EncodedEvent) {
    isLagging = false
    version = nil
    position = 0
    tell(event)
  }
}
