import Feed
import FeedClient
import Service

/// Streams, and the places in which they follow feeds.
extension StreamDelivery {
  /// Adds a stream, which follows nothing yet.
  ///
  /// - Parameter id: nil for a stream of one feed, which ends with the feed.
  /// - Returns: its number.
  mutating func open(_ stream: EventStream, id: String? = nil) -> Int {
    defer { nextNumber += 1 }
    streams[nextNumber] = OpenStream(stream, id: id)
    nextExpiry = min(nextExpiry, stream.rights.expires ?? .max)
    if let id { numbers[id] = nextNumber }
    return nextNumber
  }

  /// Removes a stream that has ended.
  ///
  /// - Returns: what it followed.
  mutating func close(_ number: Int) -> [FeedRequest] {
    guard let stream = streams[number] else { return [] }
    let removed = stream.places.keys.compactMap { unfollow($0, on: number) }
    if let id = stream.id { numbers[id] = nil }
    streams[number] = nil
    return removed
  }

  /// Adds a place, in which the stream waits for a feed, if the client may read it. There must be none for the feed.
  mutating func follow(_ request: FeedRequest, on number: Int) {
    guard let rights = streams[number]?.rights else { return }
    streams[number]?.forbidden[request.feed] = nil
    guard rights.mayRead(request) else { return refuse(request, on: number) }
    streams[number]?.places[request.feed] = OpenStream.Place(request: request)
    placeCount += 1
    wait(for: request.feed, on: number)
  }

  /// Removes the place of a feed.
  ///
  /// - Returns: what was followed in it; nil if there is none.
  mutating func unfollow(_ id: ByteText, on number: Int) -> FeedRequest? {
    streams[number]?.forbidden[id] = nil
    guard let place = streams[number]?.places.removeValue(forKey: id) else { return nil }
    placeCount -= 1
    if let feed = place.feed {
      remove(number, of: FeedView(feed, place.request.window))
    } else {
      stopWaiting(for: id, on: number)
    }
    return place.request
  }

  // MARK: Waiting

  /// The place in which a stream waits for a feed; nil if it does not wait.
  func waitingPlace(of id: ByteText, on number: Int) -> OpenStream.Place? {
    streams[number]?.places[id].flatMap { $0.feed == nil ? $0 : nil }
  }

  private mutating func wait(for id: ByteText, on number: Int) {
    waiting[id, default: []].insert(number)
    unsettled.insert(id)
  }

  mutating func stopWaiting(for id: ByteText, on number: Int) {
    waiting[id]?.remove(number)
    if waiting[id]?.isEmpty == true { waiting[id] = nil }
  }

  /// Tells a client why it gets nothing of a feed, unless it was told so last.
  mutating func tell(_ event: EncodedEvent, of id: ByteText, on number: Int) {
    guard let place = waitingPlace(of: id, on: number), place.told != event.bytes else { return }
    streams[number]?.places[id]?.told = event.bytes
    // The client forgets what it had, and expects a reload.
    streams[number]?.places[id]?.request.version = nil
    _ = streams[number]?.stream.write(event, isBounded: false)
  }

  /// Lets a stream of many feeds wait for a feed that is not served any more.
  ///
  /// - Returns: false for a stream of one feed, which the caller must end.
  mutating func wait(for view: FeedView, on number: Int) -> Bool {
    remove(number, of: view)
    streams[number]?.places[view.feed.id]?.feed = nil
    guard streams[number]?.id != nil else { return false }
    wait(for: view.feed.id, on: number)
    return true
  }

  // MARK: Ends

  /// Removes the readers of a feed that is not served any more. Streams of many feeds wait for it.
  ///
  /// - Parameter event: what they are told; nil if the caller tells them.
  /// - Returns: the streams of this feed alone, which the caller must end.
  mutating func end(_ feed: FeedAddress, telling event: EncodedEvent?) -> [EventStream] {
    history.removeAll(of: FeedView(feed))
    var ended: [EventStream] = []
    for (window, streamed) in feeds[feed]?.views ?? [:] {
      for (number, reader) in streamed.readers {
        if wait(for: FeedView(feed, window), on: number) {
          if let event { tell(event, of: feed.id, on: number) }
        } else {
          ended.append(reader.stream)
        }
      }
    }
    return ended
  }

  /// Drops the history.
  ///
  /// - Returns: the feeds with readers, which the caller must end.
  mutating func reset() -> [FeedAddress] {
    history.removeAll()
    return Array(feeds.keys)
  }
}
