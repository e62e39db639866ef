/// The address, access rules and limits of an ``HTTPServer``.
package struct HTTPServerConfiguration: Sendable, Equatable {
  /// A numeric IPv4 or IPv6 address of this machine; `0.0.0.0` and `::` stand for all. Without ``tokens`` or
  /// an authority for client certificates, it must be a loopback address: 127.0.0.1 or ::1.
  package var address = "127.0.0.1"
  /// 0 to 65535; 0 lets the system choose one, see ``HTTPServer/port``.
  package var port = 0
  /// The accepted tokens, one of which clients must send.
  package var tokens = AcceptedTokens()
  /// The feeds that need no token to be read, if there are tokens; nil for none.
  package var publicFeeds: NamePatterns?
  /// The origins whose pages may read responses.
  package var allowedOrigins = AllowedOrigins()
  /// For HTTPS; nil for plain HTTP.
  package var tls: TLSCredentials?
  /// The number of threads that serve the connections: 1 to 64.
  package var threads = 2
  /// The maximum number of connections. When it is reached, a new connection replaces the one that has waited longest
  /// without sending a request's head. If there is none, the address with the most connections makes room for one with
  /// fewer: its oldest response is cut off. Otherwise the new connection is answered with 503 and closed.
  package var maxConnections = 2048
  /// The maximum for one client address, or one /64 network of IPv6. Behind a proxy, all clients have the proxy's
  /// address.
  package var maxConnectionsPerAddress = 1536
  /// The maximum number of event streams. When it is reached, the address with the most streams makes room for one with
  /// fewer: its oldest stream ends. Otherwise the request is answered with 503.
  package var maxStreams = 1024
  /// The maximum number of queued bytes for one slow reader of a stream, without its socket's buffer. Streams share
  /// messages, so the memory used is less than the sum.
  package var maxStreamQueueBytes = 1 << 20
  /// The send buffer of a connection's socket, in bytes; the system uses up to twice as much. Without a limit, it would
  /// let the buffer grow to megabytes for a client that reads nothing, and a slow reader of a stream would first receive
  /// outdated messages.
  package var socketBytes = 128 << 10
  /// The interval in milliseconds after which a stream without messages sends a comment. 1 or more.
  package var heartbeatMilliseconds = 15_000
  /// The clients' wait before they reconnect after the end of a stream, in milliseconds.
  package var retryMilliseconds = 3000
  /// Seconds without progress after which a connection is closed, including one whose client does not read, but not an
  /// idle stream. 1 or more.
  package var idleTimeoutSeconds = 60
  /// Milliseconds from the start of a connection, or from the first byte of a later request, to the end of the
  /// request's head. After that the connection is closed, the first request with the response 408. 1 or more.
  package var headMilliseconds: Int64 = 10_000
  /// Milliseconds from a head to the end of the response, plus a second for each ``answerBytesPerSecond`` of it.
  /// Streams are exempt. After that the connection is closed. 1 or more.
  package var answerMilliseconds: Int64 = 30_000
  /// The minimum rate at which a client must read a response, in bytes per second. 1 or more.
  package var answerBytesPerSecond = 64 << 10
  /// The limits on a request's head and content.
  package var head = HTTPHeadLimits()
  /// `Retry-After` of a 503 response, in seconds.
  package var retryAfterSeconds = 5

  package init() {}

  /// libmicrohttpd's memory for a connection, enough for every accepted head: half for the head, the rest for parsed
  /// fields and parameters, and for the response's head.
  var connectionBytes: Int {
    2 * head.bytes + 64 * (head.fields + head.parameters) + (8 << 10)
  }

  /// The same for a connection that is closed after its only request, whose head is small. libmicrohttpd writes to the
  /// whole of it.
  static let briefConnectionBytes = 8 << 10

  /// Whether a head fits into half of that, with its fields and parameters as libmicrohttpd parses them.
  static func isSmall(_ head: some Collection<UInt8>) -> Bool {
    guard head.count <= briefConnectionBytes / 2 else { return false }
    let parsed = head.count { [UInt8(ascii: "\n"), UInt8(ascii: "?"), UInt8(ascii: "&")].contains($0) }
    return head.count + 64 * parsed <= briefConnectionBytes / 2
  }
}

/// Why an HTTP server cannot start.
package struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable {
    /// The address is invalid, or not an address of this machine.
    case address = "address"
    /// Another program uses the port.
    case portInUse = "port-in-use"
    /// The port requires privileges.
    case denied = "denied"
    /// Other machines could connect, and no token is configured.
    case tokenNeeded = "token-needed"
    /// The token is invalid or cannot be read.
    case token = "token"
    /// The keys of tokens cannot be read or used.
    case tokenKeys = "token-keys"
    /// The certificate cannot be read, or does not match its key.
    case certificate = "certificate"
    /// The certificate's key cannot be read, or other users can read it.
    case key = "key"
    /// The authorities of client certificates cannot be read.
    case clientAuthority = "client-authority"
    /// The limit of open files is too low for the connections.
    case openFiles = "open-files"
    /// Another error of the system.
    case system = "system"
  }

  /// The kind of error; stable.
  package let code: Code
  /// The problem and the remedy, in one line.
  package let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
