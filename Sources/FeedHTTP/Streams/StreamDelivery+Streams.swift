import Feed
import FeedClient
import HTTP

/// Streams, and the views that they follow.
extension StreamDelivery {
  /// Adds a stream without feeds.
  ///
  /// - Parameter id: nil for a stream of one feed, which ends with it.
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
  /// - Returns: its requests.
  mutating func close(_ number: Int) -> [FeedRequest] {
    guard let stream = streams[number] else { return [] }
    let removed = stream.followed.keys.compactMap { unfollow($0, on: number) }
    if let id = stream.id { numbers[id] = nil }
    streams[number] = nil
    return removed
  }

  /// Adds a view, with which the stream waits for a feed, if the client may read it. The view must be new.
  mutating func follow(_ request: FeedRequest, on number: Int) {
    guard let rights = streams[number]?.rights else { return }
    streams[number]?.forbidden[request.viewID] = nil
    guard rights.mayRead(request) else { return refuse(request, on: number) }
    streams[number]?.followed[request.viewID] = OpenStream.FollowedView(request: request)
    viewCount += 1
    wait(for: request.feed, request.viewID.reader(on: number))
  }

  /// Removes a view.
  ///
  /// - Returns: its request; nil if the view does not exist.
  mutating func unfollow(_ id: ViewID, on number: Int) -> FeedRequest? {
    streams[number]?.forbidden[id] = nil
    guard let view = streams[number]?.followed.removeValue(forKey: id) else { return nil }
    viewCount -= 1
    if let feed = view.feed {
      remove(id.reader(on: number), of: ViewAddress(feed, view.request.window))
    } else {
      stopWaiting(for: id.feed, id.reader(on: number))
    }
    return view.request
  }

  // MARK: Waiting

  /// A view of a stream that waits; nil if it does not wait.
  func waitingView(_ id: ViewID, on number: Int) -> OpenStream.FollowedView? {
    streams[number]?.followed[id].flatMap { $0.feed == nil ? $0 : nil }
  }

  private mutating func wait(for id: ByteText, _ reader: ReaderID) {
    waiting[id, default: []].insert(reader)
    unsettled.insert(id)
  }

  mutating func stopWaiting(for id: ByteText, _ reader: ReaderID) {
    waiting[id]?.remove(reader)
    if waiting[id]?.isEmpty == true { waiting[id] = nil }
  }

  /// Sends a client the reason why it receives nothing of a feed, unless that was the last notice.
  mutating func tell(_ event: EncodedEvent, of id: ViewID, on number: Int) {
    guard let view = waitingView(id, on: number), view.told != event.bytes else { return }
    streams[number]?.followed[id]?.told = event.bytes
    // The client discards its state, and expects a reload.
    streams[number]?.followed[id]?.request.version = nil
    _ = streams[number]?.stream.write(event.tagged(id.tag), isBounded: false)
  }

  /// Makes a stream of many feeds wait for a feed that this process has stopped serving.
  ///
  /// - Returns: false for a stream of one feed, which the caller must end.
  mutating func wait(for view: ViewAddress, _ reader: ReaderID) -> Bool {
    remove(reader, of: view)
    streams[reader.stream]?.followed[reader.viewID(of: view.feed.id)]?.feed = nil
    guard streams[reader.stream]?.id != nil else { return false }
    wait(for: view.feed.id, reader)
    return true
  }

  // MARK: Ends

  /// Removes the readers of a feed that this process has stopped serving. Streams of many feeds wait.
  ///
  /// - Parameter event: the notice for the readers; nil if the caller sends it.
  /// - Returns: the streams of only this feed, which the caller must end.
  mutating func end(_ feed: FeedAddress, telling event: EncodedEvent?) -> [EventStream] {
    history.removeAll(of: ViewAddress(feed))
    var ended: [EventStream] = []
    for (window, streamed) in feeds[feed]?.views ?? [:] {
      for id in streamed.readers.keys {
        if wait(for: ViewAddress(feed, window), id) {
          if let event { tell(event, of: id.viewID(of: feed.id), on: id.stream) }
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
