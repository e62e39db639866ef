/// What an ``HTTPServer`` has done since it was started, and what it is doing.
public struct HTTPCounters: Sendable, Equatable {
  /// Requests answered, by status; those that libmicrohttpd refuses by itself as they are not HTTP are not
  /// counted.
  public var requestsByStatus: [Int: Int] = [:]
  /// Connections at this moment.
  public var openConnections = 0
  /// Streams at this moment.
  public var openStreams = 0
  /// Streams that were opened.
  public var streams = 0
  /// Bytes that wait for readers of streams at this moment.
  public var queuedBytes = 0
  /// Messages that were queued on a stream, one for each stream.
  public var queuedEvents = 0
  /// Messages that a stream did not take, as its client was too slow.
  public var refusedEvents = 0
  /// Bytes of content that were handed over to be sent, heads not included; clients may have gone before they
  /// had them all.
  public var contentBytes = 0

  /// Nothing yet.
  public init() {}
}
