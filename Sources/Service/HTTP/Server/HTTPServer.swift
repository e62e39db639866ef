internal import CMicrohttpd
import Glibc
import Synchronization

/// A small HTTP/1.1 server: routes with contents that are shared and kept, and streams of Server-Sent Events.
///
/// ```swift
/// var router = HTTPRouter()
/// router.add(.get, "/health", isOpen: true) { _ in
///   HTTPResponse(contentType: "text/plain", content: healthy)
/// }
/// router.add(.get, "/news", produces: ["text/event-stream"]) { _ in
///   .events { stream in readers.add(stream) }
/// }
/// let server = try HTTPServer(HTTPServerConfiguration(), router: router)
/// defer { server.stop(withinMilliseconds: 1000) }
/// ```
///
/// A thread takes connections in, and libmicrohttpd serves those that have sent a request's head with a few threads of
/// its own and epoll; a thread more watches the streams. None of it runs on the cooperative pool. Handlers run on the server's threads and must not block.
///
/// With ``HTTPServerConfiguration/tls`` it speaks HTTPS only. It lives until ``stop(withinMilliseconds:)``; a server that is never stopped is never
/// freed.
public final class HTTPServer: Sendable {
  /// What it was told.
  public let configuration: HTTPServerConfiguration
  /// The port that it listens on, also when 0 was asked for.
  public let port: Int
  /// Where it is, for people: `http://127.0.0.1:8080`.
  public let url: String

  let gate: HTTPGate
  private let requiredToken: RequiredToken
  let connections: HTTPConnections
  let exchanges = HTTPExchangeCount()
  let streams: EventStreamRegistry
  let watcher: EventStreamWatcher
  let counterStore = HTTPCounterStore()
  /// Nil before it is started and once it is being stopped.
  private let daemon = Mutex<Daemon?>(nil)

  private struct Daemon: @unchecked Sendable {
    // Unchecked: libmicrohttpd's functions for a daemon may be called on any thread.
    /// Gets new connections.
    var pointer: OpaquePointer
    /// What it shows to new connections.
    var tls: TLSCredentials?
    var entrance: HTTPEntrance?
    /// Have connections that began with earlier certificates.
    var retired: [OpaquePointer] = []
  }

  /// How many earlier certificates may have connections.
  private static let mostRetired = 4

  /// Files that are open besides connections, about: Kafka's sockets, logs.
  private static let otherFiles = 256

  /// Starts to listen and to answer.
  ///
  /// - Throws: ``HTTPServerError``, which says what to do about it.
  public init(_ configuration: HTTPServerConfiguration, router: HTTPRouter) throws(HTTPServerError) {
    let address = try Self.checkedAddress(configuration)
    try Self.checkOpenFiles(configuration)
    self.configuration = configuration
    requiredToken = RequiredToken(configuration.token)
    var gate = HTTPGate(router: router, requiredToken: requiredToken, limits: configuration.headLimits)
    gate.knowsClients = configuration.tls?.clientAuthority != nil
    self.gate = gate
    connections = HTTPConnections(configuration.connectionLimits)
    let streams = EventStreamRegistry(limit: configuration.maxStreams)
    self.streams = streams
    let socket = try ListeningSocket(address, port: configuration.port)
    port = socket.port
    url = "\(configuration.tls == nil ? "http" : "https")://\(address.host):\(socket.port)"
    do {
      watcher = try EventStreamWatcher(
        tickMilliseconds: max(1, configuration.heartbeatMilliseconds / EventStream.ticksOfSilence),
        onHangUp: { number in streams.stream(number)?.end(.clientGone, isFlushed: false) },
        onTick: { for stream in streams.all { stream.tick() } }
      )
    } catch {
      close(socket.descriptor)
      throw error
    }
    try start(socket)
  }

  /// The token that clients must show; nil if they need none.
  public var token: BearerToken? { requiredToken.token }

  /// Replaces the token that clients must show. Streams end, so that nobody goes on with another one.
  ///
  /// - Parameter token: nil for none; check the address first, as in ``check(_:)``.
  public func replaceToken(_ token: BearerToken?) {
    guard requiredToken.replace(token) else { return }
    for stream in streams.all { stream.end(.closed, isFlushed: true) }
  }

  /// What it has done and is doing.
  public var counters: HTTPCounters {
    var counters = counterStore.read()
    counters.openConnections = connections.count
    let streams = streams.all
    counters.openStreams = streams.count
    counters.queuedBytes = streams.reduce(0) { $0 + $1.queuedBytes }
    return counters
  }

  /// Takes no more connections, lets streams end and answers be sent, then closes every connection.
  ///
  /// Blocks until then: never call it on the cooperative pool, nor in a handler. A handler that does not
  /// return keeps it longer than asked. A second call does nothing.
  ///
  /// - Parameter milliseconds: How long clients have to take what is queued for them.
  /// - Returns: Whether all clients got all that was theirs.
  @discardableResult
  public func stop(withinMilliseconds milliseconds: Int) -> Bool {
    let running = daemon.withLock { daemon in
      defer { daemon = nil }
      return daemon
    }
    guard let running else { return true }
    let deadline = MonotonicClock.milliseconds() + Int64(milliseconds)
    // Refuses clients at once.
    running.entrance?.stop()
    for stream in streams.stop() { stream.end(.serverStopped, isFlushed: true) }
    let isDone = exchanges.waitForNone(until: deadline)
    // No stream is suspended any more, which libmicrohttpd would not survive: those that have ended never are.
    for pointer in running.retired + [running.pointer] { MHD_stop_daemon(pointer) }
    watcher.stop()
    Unmanaged.passUnretained(self).release()
    return isDone
  }

  /// What new connections are shown; nil for plain HTTP, and once the server is being stopped.
  public var credentials: TLSCredentials? { daemon.withLock { $0?.tls } }

  /// Refuses credentials that ``replaceCredentials(_:)`` cannot take.
  ///
  /// - Throws: ``HTTPServerError``.
  public func check(_ tls: TLSCredentials) throws(HTTPServerError) {
    guard configuration.tls != nil else {
      throw HTTPServerError(
        .certificate,
        "the server speaks plain HTTP; restart it to serve HTTPS"
      )
    }
    guard (tls.clientAuthority != nil) == gate.knowsClients else {
      throw HTTPServerError(
        .clientAuthority,
        "whether clients have to show certificates cannot change while the server runs; restart it"
      )
    }
    let isFull = daemon.withLock { running in
      Self.closeRetired(&running)
      return (running?.retired.count ?? 0) >= Self.mostRetired
    }
    guard !isFull else { throw Self.tooManyCertificates }
  }

  private static let tooManyCertificates = HTTPServerError(
    .certificate,
    "\(mostRetired) earlier certificates still have connections; try again later, or restart the server"
  )

  /// Closes what served earlier certificates and has no connections any more.
  private static func closeRetired(_ running: inout Daemon?) {
    running?.retired.removeAll { pointer in
      guard feedstore_http_connection_count(pointer) == 0 else { return false }
      MHD_stop_daemon(pointer)
      return true
    }
  }

  /// Shows another certificate to new connections, and asks them for clients' certificates as that says. Connections that
  /// are open go on with the earlier one.
  ///
  /// - Throws: ``HTTPServerError``; nothing has changed then.
  public func replaceCredentials(_ tls: TLSCredentials) throws(HTTPServerError) {
    try check(tls)
    let failure = daemon.withLock { running -> HTTPServerError? in
      guard let current = running else { return nil }
      guard current.retired.count < Self.mostRetired else { return Self.tooManyCertificates }
      guard let pointer = startDaemon(Unmanaged.passUnretained(self).toOpaque(), tls) else {
        return HTTPServerError(
          .system,
          "cannot serve \(url) with another certificate: \(String(cString: strerror(errno)))"
        )
      }
      running?.retired.append(current.pointer)
      running?.pointer = pointer
      running?.tls = tls
      return nil
    }
    if let failure { throw failure }
  }

  private func startDaemon(_ owner: UnsafeMutableRawPointer, _ tls: TLSCredentials?) -> OpaquePointer? {
    var options = feedstore_http_options_t()
    options.threads = UInt32(configuration.threads)
    // Never reached, as connections are counted before they come here, and each thread may have all of them: one that is
    // handed more than its share waits in libmicrohttpd 0.9.75 for a lock that it holds itself, for ever.
    options.connection_limit = UInt32(
      clamping: configuration.threads * (configuration.maxConnections + 2 * connectionReserve)
    )
    options.connection_memory_bytes = configuration.connectionBytes
    options.timeout_seconds = UInt32(configuration.idleTimeoutSeconds)
    options.owner = owner
    options.on_request = { @Sendable in handleHTTPRequest($0, $1, $2, $3, $4, $5, $6, $7) }
    options.on_completion = { @Sendable in handleHTTPCompletion($0, $1, $2, $3) }
    options.on_connection = { @Sendable in handleHTTPConnection($0, $1, $2, $3) }
    guard let tls else { return feedstore_http_start(&options) }
    return tls.withPointers { certificate, key, authority in
      options.certificate = certificate
      options.key = key
      options.client_authority = authority
      return feedstore_http_start(&options)
    }
  }

  private func start(_ socket: ListeningSocket) throws(HTTPServerError) {
    // libmicrohttpd's threads use the server until it is stopped.
    let owner = Unmanaged.passRetained(self)
    guard let pointer = startDaemon(owner.toOpaque(), configuration.tls) else {
      let reason = String(cString: strerror(errno))
      close(socket.descriptor)
      watcher.stop()
      owner.release()
      throw HTTPServerError(
        .system,
        "cannot serve \(url): \(reason); allow the process more open files and threads (LimitNOFILE, TasksMax)"
      )
    }
    daemon.withLock { $0 = Daemon(pointer: pointer, tls: configuration.tls) }
    do {
      let entrance = try entrance(socket)
      daemon.withLock { $0?.entrance = entrance }
    } catch {
      daemon.withLock { $0 = nil }
      MHD_stop_daemon(pointer)
      watcher.stop()
      owner.release()
      throw error
    }
  }

  private func entrance(_ socket: ListeningSocket) throws(HTTPServerError) -> HTTPEntrance {
    let isTLS = configuration.tls != nil
    return try HTTPEntrance(
      socket,
      connections,
      configuration.headLimits,
      isTLS: isTLS,
      // Often enough that a deadline is met to a tenth.
      tickMilliseconds: min(
        1000,
        max(10, Int64(min(configuration.headMilliseconds, configuration.answerMilliseconds)) / 10)
      ),
      refuse: { [weak self] in self?.encoded(.refusal($0)) ?? [] },
      unavailable: { [weak self] reason in
        // Who speaks TLS could not read it.
        guard let self, !isTLS else { return [] }
        var response = unavailable(code: "too-many-connections", detail: reason + "; try again later")
        response.headers.append(HTTPField("Connection", "close"))
        return encoded(response)
      },
      serve: { [weak self] socket, address, port in
        guard let self, let address else {
          close(socket)
          return false
        }
        return daemon.withLock { running in
          guard let running else {
            close(socket)
            return false
          }
          // If this fails, it closes the socket.
          return address.withSocketAddress(port: port) {
            MHD_add_connection(running.pointer, socket, $0, $1) == .YES
          }
        }
      }
    )
  }

  /// An answer of this server's that libmicrohttpd does not send.
  private func encoded(_ response: HTTPResponse) -> [UInt8] {
    counterStore.countAnswer(status: response.status)
    let reply = HTTPReply(response, to: HTTPRequestHead(method: "GET", path: nil, query: nil))
    let phrase = MHD_get_reason_phrase_for(UInt32(reply.status)).map { String(cString: $0) } ?? ""
    let content = reply.content?.withUnsafeBytes { Array($0) } ?? []
    counterStore.countBytes(content.count)
    let fields = reply.headers + [HTTPField("Content-Length", String(content.count))]
    let lines = ["HTTP/1.1 \(reply.status) \(phrase)"] + fields.map { "\($0.name): \($0.value)" }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + content
  }

  /// How many connections more than may be there are while some are being closed.
  private var connectionReserve: Int { configuration.connectionLimits.reserve }

  /// Refuses an address that is none, or that others could reach without a token.
  public static func check(_ configuration: HTTPServerConfiguration) throws(HTTPServerError) {
    _ = try checkedAddress(configuration)
  }

  private static func checkedAddress(
    _ configuration: HTTPServerConfiguration
  ) throws(HTTPServerError) -> IPAddress {
    guard let address = IPAddress(configuration.address) else {
      throw HTTPServerError(
        .address,
        """
        \(configuration.address.debugDescription) is not an address to listen on; give a numeric one, \
        such as 127.0.0.1, ::1 or 0.0.0.0
        """
      )
    }
    guard
      address.isLoopback || configuration.token != nil || configuration.tls?.clientAuthority != nil
    else {
      throw HTTPServerError(
        .tokenNeeded,
        """
        others could connect to \(address) and nothing says who may; set a token that they must show, \
        or an authority for their certificates, or listen on 127.0.0.1
        """
      )
    }
    return address
  }

  private static func checkOpenFiles(_ configuration: HTTPServerConfiguration) throws(HTTPServerError) {
    let needed = configuration.maxConnections + 2 * configuration.connectionLimits.reserve + otherFiles
    let allowed = OpenFiles.allow(needed)
    guard allowed < needed else { return }
    throw HTTPServerError(
      .openFiles,
      """
      \(configuration.maxConnections) connections need \(needed) open files, and the process may have \(allowed); \
      raise its limit (LimitNOFILE, ulimit -n), or allow fewer connections
      """
    )
  }
}
