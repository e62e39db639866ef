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

  /// Adds a place, in which the stream waits for a feed, if the client may read it. There must be none like it.
  mutating func follow(_ request: FeedRequest, on number: Int) {
    guard let rights = streams[number]?.rights else { return }
    streams[number]?.forbidden[request.place] = nil
    guard rights.mayRead(request) else { return refuse(request, on: number) }
    streams[number]?.places[request.place] = OpenStream.Place(request: request)
    placeCount += 1
    wait(for: request.feed, request.place.reader(on: number))
  }

  /// Removes a place.
  ///
  /// - Returns: what was followed in it; nil if there is none.
  mutating func unfollow(_ id: PlaceID, on number: Int) -> FeedRequest? {
    streams[number]?.forbidden[id] = nil
    guard let place = streams[number]?.places.removeValue(forKey: id) else { return nil }
    placeCount -= 1
    if let feed = place.feed {
      remove(id.reader(on: number), of: FeedView(feed, place.request.window))
    } else {
      stopWaiting(for: id.feed, id.reader(on: number))
    }
    return place.request
  }

  // MARK: Waiting

  /// The place in which a stream waits for a feed; nil if it does not wait.
  func waitingPlace(_ id: PlaceID, on number: Int) -> OpenStream.Place? {
    streams[number]?.places[id].flatMap { $0.feed == nil ? $0 : nil }
  }

  private mutating func wait(for id: ByteText, _ reader: ReaderID) {
    waiting[id, default: []].insert(reader)
    unsettled.insert(id)
  }

  mutating func stopWaiting(for id: ByteText, _ reader: ReaderID) {
    waiting[id]?.remove(reader)
    if waiting[id]?.isEmpty == true { waiting[id] = nil }
  }

  /// Tells a client why it gets nothing of a feed, unless it was told so last.
  mutating func tell(_ event: EncodedEvent, of id: PlaceID, on number: Int) {
    guard let place = waitingPlace(id, on: number), place.told != event.bytes else { return }
    streams[number]?.places[id]?.told = event.bytes
    // The client forgets what it had, and expects a reload.
    streams[number]?.places[id]?.request.version = nil
    _ = streams[number]?.stream.write(event.tagged(id.tag), isBounded: false)
  }

  /// Lets a stream of many feeds wait for a feed that is not served any more.
  ///
  /// - Returns: false for a stream of one feed, which the caller must end.
  mutating func wait(for view: FeedView, _ reader: ReaderID) -> Bool {
    remove(reader, of: view)
    streams[reader.stream]?.places[reader.place(of: view.feed.id)]?.feed = nil
    guard streams[reader.stream]?.id != nil else { return false }
    wait(for: view.feed.id, reader)
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
      for id in streamed.readers.keys {
        if wait(for: FeedView(feed, window), id) {
          if let event { tell(event, of: id.place(of: feed.id), on: id.stream) }
        } else if let stream = streams[id.stream] {
          ended.append(stream.stream)
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
