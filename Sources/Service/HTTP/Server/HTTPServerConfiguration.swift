/// Where an ``HTTPServer`` listens, whom it lets in, and how much it takes.
public struct HTTPServerConfiguration: Sendable, Equatable {
  /// A numeric IPv4 or IPv6 address of this machine; `0.0.0.0` and `::` are all of them. Without a ``token``
  /// only an address that others cannot reach: 127.0.0.1 or ::1.
  public var address = "127.0.0.1"
  /// 0 to 65535; with 0 the system chooses one, which ``HTTPServer/port`` tells.
  public var port = 0
  /// What clients must show; nil to let everybody in who can connect.
  public var token: BearerToken?
  /// Threads that serve the connections, each its share: 1 to 64.
  public var threads = 2
  /// Connections at a time. Those above are answered 503 and closed, a few; then they wait to be accepted.
  public var maxConnections = 2048
  /// The same for one client address. Behind a proxy all clients have its address.
  public var maxConnectionsPerAddress = 1024
  /// Streams of events at a time; more are answered 503.
  public var maxStreams = 1024
  /// Bytes that may wait for one slow reader of a stream, besides what its socket holds. Messages are shared by
  /// the streams they are written to, and so count less than once each.
  public var maxStreamQueueBytes = 1 << 20
  /// Bytes that the socket of a stream may hold that are sent but not received. Without a bound the system
  /// would let it grow to megabytes, and a slow reader would be told old news first.
  public var streamSocketBytes = 128 << 10
  /// Milliseconds between two looks at a stream; if nothing was sent in between, a comment is. 1 or more.
  public var heartbeatMilliseconds = 15_000
  /// Milliseconds that clients of a stream that ended wait before they come again.
  public var retryMilliseconds = 3000
  /// Seconds after which a connection on which nothing moves is closed, one whose client does not read
  /// included, but not a stream that has nothing to send. 1 or more.
  public var idleTimeoutSeconds = 60
  /// Bytes of a request's line and header fields, and for what is made of them: more is answered 431 or 414.
  /// Each connection takes as many. 4096 or more.
  public var maxHeadBytes = 16 << 10
  /// Bytes of a request's content; more is answered 413.
  public var maxBodyBytes = 1 << 20
  /// Seconds that clients are asked to wait with a 503.
  public var retryAfterSeconds = 5

  /// The defaults.
  public init() {}
}
