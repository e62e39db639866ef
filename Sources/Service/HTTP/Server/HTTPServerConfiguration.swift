/// Where an ``HTTPServer`` listens, whom it lets in, and how much it takes.
public struct HTTPServerConfiguration: Sendable, Equatable {
  /// A numeric IPv4 or IPv6 address of this machine; `0.0.0.0` and `::` are all of them. Without a ``token`` or an
  /// authority for clients' certificates only an address that others cannot reach: 127.0.0.1 or ::1.
  public var address = "127.0.0.1"
  /// 0 to 65535; with 0 the system chooses one, which ``HTTPServer/port`` tells.
  public var port = 0
  /// What clients must show; nil to let everybody in who can connect.
  public var token: BearerToken?
  /// For HTTPS; nil for plain HTTP.
  public var tls: TLSCredentials?
  /// Threads that serve the connections, each its share: 1 to 64.
  public var threads = 2
  /// Connections at a time. When there are as many, a new one takes the place of the one that has owed a request's
  /// head the longest; if none does, it is answered 503 and closed.
  public var maxConnections = 2048
  /// The same for one client address, of IPv6 for one network of 64 bits. Behind a proxy all clients have its address.
  public var maxConnectionsPerAddress = 1536
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
  /// Milliseconds from a connection's start, or from the first byte of a later request, to the end of the request's
  /// head. Then the connection is closed, after an answer 408 if it is the first request. 1 or more.
  public var headMilliseconds = 10_000
  /// Milliseconds from a head to the end of the answer, streams excepted, and a second more for each
  /// ``answerBytesPerSecond`` of it. Then the connection is closed. 1 or more.
  public var answerMilliseconds = 30_000
  /// Bytes of an answer that a client has to read in a second. 1 or more.
  public var answerBytesPerSecond = 64 << 10
  /// Bytes of a request's line and header fields: more is answered 414 or 431. 1024 or more.
  public var maxHeadBytes = 16 << 10
  /// Header fields of a request: more is answered 431.
  public var maxHeaderFields = 100
  /// Parts of a request's query: more is answered 414.
  public var maxQueryParameters = 100
  /// Bytes of a request's content; more is answered 413 before any of it is read.
  public var maxBodyBytes = 1 << 20
  /// Seconds that clients are asked to wait with a 503.
  public var retryAfterSeconds = 5

  /// The defaults.
  public init() {}

  var headLimits: HTTPHeadLimits {
    var limits = HTTPHeadLimits()
    limits.bytes = maxHeadBytes
    limits.fields = maxHeaderFields
    limits.parameters = maxQueryParameters
    limits.contentBytes = maxBodyBytes
    return limits
  }

  var connectionLimits: HTTPConnectionTable.Limits {
    var limits = HTTPConnectionTable.Limits()
    limits.connections = maxConnections
    limits.connectionsPerAddress = maxConnectionsPerAddress
    limits.head = Int64(headMilliseconds)
    limits.idle = Int64(idleTimeoutSeconds) * 1000
    limits.answer = Int64(answerMilliseconds)
    limits.answerBytesPerSecond = answerBytesPerSecond
    return limits
  }

  /// What libmicrohttpd may take for a connection, so that it never has too little for a head that was let through:
  /// half of it is for the head, the rest for what is made of each field and parameter, and for the answer's head.
  var connectionBytes: Int {
    2 * maxHeadBytes + 64 * (maxHeaderFields + maxQueryParameters) + (8 << 10)
  }
}
