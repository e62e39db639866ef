import Feed
import HTTP

/// The rights of streams' clients, and their expiry.
extension StreamDelivery {
  /// Refuses a client a feed. The stream follows it once a newer token allows it.
  mutating func refuse(_ request: FeedRequest, on number: Int) {
    var request = request
    request.version = nil
    streams[number]?.forbidden[request.viewID] = request
    let notice = StreamNotice.forbidden(request.feed, reason: "not-allowed")
    _ = streams[number]?.stream.write(notice.tagged(request.viewID.tag), isBounded: false)
  }

  /// The requests that a stream was refused and that a newer token allows.
  func refused(on id: String, butReadableBy rights: AccessRights) -> [FeedRequest] {
    numbers[id].flatMap { streams[$0]?.forbidden.values.filter(rights.mayRead) } ?? []
  }

  /// Sets the rights of a newer token.
  ///
  /// - Returns: the requests that the new rights no longer allow.
  mutating func grant(_ rights: AccessRights, to number: Int) -> [FeedRequest] {
    guard let followed = streams[number]?.followed.values.map(\.request) else { return [] }
    streams[number]?.rights = rights
    nextExpiry = min(nextExpiry, rights.expires ?? .max)
    let lost = followed.filter { !rights.mayRead($0) }
    for request in lost {
      _ = unfollow(request.viewID, on: number)
      refuse(request, on: number)
    }
    return lost
  }

  /// Ends the streams and views whose tokens have expired.
  ///
  /// - Parameter now: in milliseconds since 1970.
  /// - Returns: the streams, which the caller must end, and their requests.
  mutating func expire(at now: Int64) -> (ended: [EventStream], requests: [FeedRequest]) {
    guard nextExpiry <= now else { return ([], []) }
    let expiries = streams.compactMapValues(\.rights.expires)
    nextExpiry = expiries.values.filter { $0 > now }.min() ?? .max
    var result: (ended: [EventStream], requests: [FeedRequest]) = ([], [])
    for number in expiries.filter({ $0.value <= now }).keys {
      guard let stream = streams[number] else { continue }
      for view in stream.followed.keys {
        let notice = StreamNotice.forbidden(view.feed, reason: "token-expired")
        _ = stream.stream.write(notice.tagged(view.tag), isBounded: false)
      }
      result.ended.append(stream.stream)
      // Nothing is written after the notices.
      result.requests += close(number)
    }
    return result
  }
}

extension AccessRights {
  func mayRead(_ request: FeedRequest) -> Bool { mayRead(request.feed.string) }
}
