/// The counters of an ``HTTPServer`` since its start, and its current state.
public struct HTTPCounters: Sendable, Equatable {
  /// Requests by response status. Malformed requests that libmicrohttpd rejects itself are not counted.
  public var requestsByStatus: [Int: Int] = [:]
  /// The number of open connections.
  public var openConnections = 0
  /// The number of open streams.
  public var openStreams = 0
  /// The number of streams opened since the start.
  public var streams = 0
  /// Bytes queued for readers of streams.
  public var queuedBytes = 0
  /// Messages queued on streams, counted once for each stream.
  public var queuedEvents = 0
  /// Messages that a full stream rejected.
  public var refusedEvents = 0
  /// Bytes of content passed on for sending, without heads. Clients may have disconnected before they received them.
  public var contentBytes = 0

  /// Counters at zero.
  public init() {}
}
