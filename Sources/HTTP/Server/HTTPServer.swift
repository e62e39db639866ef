internal import CMicrohttpd
import Glibc
import OperatingSystem
import Synchronization

/// A small HTTP/1.1 server: routes with shared, cached content, and streams of Server-Sent Events.
///
/// ```swift
/// var router = HTTPRouter()
/// router.add("/health", isOpen: true) { _ in
///   HTTPResponse(contentType: "text/plain", content: healthy)
/// }
/// router.add("/news", produces: ["text/event-stream"]) { _ in
///   .events { stream in readers.add(stream) }
/// }
/// let server = try HTTPServer(HTTPServerConfiguration(), router: router)
/// defer { server.stop(withinMilliseconds: 1000) }
/// ```
///
/// One thread accepts connections. libmicrohttpd serves those with a complete head, with a few threads and epoll. Another
/// thread sends the messages of streams. Nothing runs on the cooperative pool. Handlers run on the server's threads and
/// must not block.
///
/// With ``HTTPServerConfiguration/tls`` it serves HTTPS only. It lives until ``stop(withinMilliseconds:)``; a server
/// that is never stopped is never released.
package final class HTTPServer: Sendable {
  package let configuration: HTTPServerConfiguration
  /// The actual port, even if 0 was requested.
  package let port: Int
  /// The server's URL: `http://127.0.0.1:8080`.
  package let url: String

  let gate: HTTPGate
  private let accepted: Mutex<AcceptedTokens>
  let connections: HTTPConnections
  /// The number of requests that libmicrohttpd has not finished with.
  let exchangeCount = Atomic(0)
  let streams: EventStreamRegistry
  let sender: EventSender
  let counterStore = HTTPCounterStore()
  /// Whether requests are no longer answered, because all connections are being closed.
  let isClosing = Atomic(false)
  /// nil before the start, and once the server is stopping.
  private let daemon = Mutex<Daemon?>(nil)

  private struct Daemon: @unchecked Sendable {
    // Unchecked: libmicrohttpd's functions for a daemon may be called on any thread.
    var pointer: OpaquePointer
    /// The daemon for new connections that are closed after one request; nil with HTTPS.
    var brief: OpaquePointer?
    var tls: TLSCredentials?
    var entrance: HTTPEntrance?
    /// Daemons whose connections began with earlier certificates.
    var retired: [OpaquePointer] = []
  }

  /// The maximum number of earlier certificates with open connections.
  private static let mostRetired = 4

  /// The approximate number of open files besides connections: Kafka's sockets, logs.
  private static let otherFiles = 256

  /// Starts listening and serving.
  ///
  /// - Throws: ``HTTPServerError`` with the remedy.
  package init(_ configuration: HTTPServerConfiguration, router: HTTPRouter) throws(HTTPServerError) {
    let address = try Self.checkedAddress(configuration)
    try Self.checkOpenFiles(configuration)
    self.configuration = configuration
    accepted = Mutex(configuration.tokens)
    var gate = HTTPGate(router: router, limits: configuration.head)
    gate.knowsClients = configuration.tls?.clientAuthority != nil
    gate.origins = configuration.allowedOrigins
    gate.publicFeeds = configuration.publicFeeds
    self.gate = gate
    connections = HTTPConnections(configuration)
    let streams = EventStreamRegistry(limit: configuration.maxStreams)
    self.streams = streams
    let socket = try ListeningSocket(
      address,
      port: configuration.port,
      sendBytes: configuration.socketBytes,
      receiveBytes: 4 * configuration.head.bytes
    )
    port = socket.port
    url = "\(configuration.tls == nil ? "http" : "https")://\(address.host):\(socket.port)"
    do {
      sender = try EventSender(streams)
    } catch {
      close(socket.descriptor)
      throw error
    }
    sender.start(
      tickMilliseconds: Int64(max(1, configuration.heartbeatMilliseconds / EventStream.ticksOfSilence)),
      idleMilliseconds: 1000 * Int64(configuration.idleTimeoutSeconds)
    )
    try start(socket)
  }

  package var tokens: AcceptedTokens { accepted.withLock { $0 } }

  /// Replaces the tokens. If clients must authenticate again, open streams end, except those whose token has an expiry.
  ///
  /// - Parameter tokens: check the address first with ``check(_:)``.
  package func replaceTokens(_ tokens: AcceptedTokens) {
    let former = accepted.withLock { accepted in
      defer { accepted = tokens }
      return accepted
    }
    guard former.bearer != tokens.bearer || former.isEmpty != tokens.isEmpty else { return }
    for stream in streams.all where stream.rights.expires == nil { stream.close() }
  }

  package var counters: HTTPCounters {
    var counters = counterStore.read()
    counters.tokenKeys = tokens.verifier?.fetched?.status
    counters.openConnections = connections.count
    let streams = streams.all
    counters.openStreams = streams.count
    counters.queuedBytes = streams.reduce(0) { $0 + $1.queuedBytes }
    return counters
  }

  /// Accepts no more connections, lets streams end and responses be sent, then closes all connections.
  ///
  /// Blocks until then: never call it on the cooperative pool or in a handler. A handler that does not return delays it
  /// beyond the timeout. A second call does nothing.
  ///
  /// - Parameter milliseconds: the maximum time for clients to read their queues.
  /// - Returns: whether all clients received everything.
  @discardableResult
  package func stop(withinMilliseconds milliseconds: Int) -> Bool {
    let running = daemon.withLock { daemon in
      defer { daemon = nil }
      return daemon
    }
    guard let running else { return true }
    let deadline = MonotonicClock.milliseconds() + Int64(milliseconds)
    // New clients are rejected from now on.
    running.entrance?.stop()
    for stream in streams.stop() { stream.close() }
    // Polls every two milliseconds, which is acceptable at the end of a server.
    func isAnswering() -> Bool { exchangeCount.load(ordering: .sequentiallyConsistent) > 0 }
    while isAnswering(), MonotonicClock.milliseconds() < deadline { usleep(2_000) }
    let isDone = !isAnswering()
    isClosing.store(true, ordering: .relaxed)
    // No connection may be suspended now, or libmicrohttpd would fail.
    for stream in streams.all { stream.cut() }
    let pointers = running.retired + [running.pointer, running.brief].compactMap(\.self)
    for pointer in pointers { MHD_stop_daemon(pointer) }
    sender.stop()
    Unmanaged.passUnretained(self).release()
    return isDone
  }

  /// The certificate for new connections; nil for plain HTTP, and once the server is stopping.
  package var credentials: TLSCredentials? { daemon.withLock { $0?.tls } }

  /// Rejects credentials that ``replaceCredentials(_:)`` could not apply.
  ///
  /// - Throws: ``HTTPServerError``.
  package func check(_ tls: TLSCredentials) throws(HTTPServerError) {
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

  /// Stops daemons with earlier certificates that have no connections left.
  private static func closeRetired(_ running: inout Daemon?) {
    running?.retired.removeAll { pointer in
      guard feedstore_http_connection_count(pointer) == 0 else { return false }
      MHD_stop_daemon(pointer)
      return true
    }
  }

  /// Replaces the certificate, and the authorities of client certificates, for new connections. Open connections keep
  /// the earlier ones.
  ///
  /// - Throws: ``HTTPServerError``; nothing has changed then.
  package func replaceCredentials(_ tls: TLSCredentials) throws(HTTPServerError) {
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

  /// - Parameter isBrief: whether its connections are closed after one request.
  private func startDaemon(
    _ owner: UnsafeMutableRawPointer,
    _ tls: TLSCredentials?,
    isBrief: Bool = false
  ) -> OpaquePointer? {
    var options = feedstore_http_options_t()
    options.threads = UInt32(configuration.threads)
    // Never reached, because connections are counted before the handover, and each thread may have all of them. In
    // libmicrohttpd 0.9.75, a thread that receives more than its share deadlocks on a lock that it holds itself.
    options.connection_limit = UInt32(
      clamping: configuration.threads * (configuration.maxConnections + 2 * HTTPConnectionTable.reserve)
    )
    options.connection_memory_bytes =
      isBrief ? HTTPServerConfiguration.briefConnectionBytes : configuration.connectionBytes
    options.timeout_seconds = UInt32(configuration.idleTimeoutSeconds)
    options.owner = owner
    options.on_request = { @Sendable in handleHTTPRequest($0, $1, $2, $3, $4, $5, $6, $7) }
    options.on_completion = { @Sendable in handleHTTPCompletion($0, $1, $2, $3) }
    options.on_connection = { @Sendable in handleHTTPConnection($0, $1, $2, $3, isBrief: false) }
    if isBrief {
      options.on_connection = { @Sendable in handleHTTPConnection($0, $1, $2, $3, isBrief: true) }
    }
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
      sender.stop()
      owner.release()
      throw HTTPServerError(
        .system,
        "cannot serve \(url): \(reason); allow the process more open files and threads (LimitNOFILE, TasksMax)"
      )
    }
    // Without it, streams use connections like other requests.
    let brief = configuration.tls == nil ? startDaemon(owner.toOpaque(), nil, isBrief: true) : nil
    daemon.withLock { $0 = Daemon(pointer: pointer, brief: brief, tls: configuration.tls) }
    do {
      let entrance = try HTTPEntrance(socket, of: self)
      daemon.withLock { $0?.entrance = entrance }
    } catch {
      daemon.withLock { $0 = nil }
      for pointer in [pointer, brief].compactMap(\.self) { MHD_stop_daemon(pointer) }
      sender.stop()
      owner.release()
      throw error
    }
  }

  /// For the entrance: the response when the limit is reached.
  func unavailable(_ reason: String) -> [UInt8] {
    // A TLS client could not read it.
    guard configuration.tls == nil else { return [] }
    var response = unavailable(code: "too-many-connections", detail: reason + "; try again later")
    response.headers.append(HTTPField("Connection", "close"))
    return encoded(response)
  }

  /// For the entrance: takes over a socket.
  ///
  /// - Parameter head: the head of the first request; empty with TLS.
  /// - Returns: false if the socket is closed.
  func serve(_ socket: Int32, _ address: IPAddress?, _ port: UInt16, _ head: UnsafeRawBufferPointer) -> Bool {
    daemon.withLock { running in
      guard let running, let address else {
        close(socket)
        return false
      }
      let brief = asksForStream(head) ? running.brief : nil
      // If this fails, it closes the socket.
      return address.withSocketAddress(port: port) {
        MHD_add_connection(brief ?? running.pointer, socket, $0, $1) == .YES
      }
    }
  }

  /// Whether a head is small, and requests a stream. Its connection then serves no other request, which could have a
  /// larger head.
  private func asksForStream(_ head: UnsafeRawBufferPointer) -> Bool {
    guard HTTPServerConfiguration.isSmall(head) else { return false }
    let line = head.prefix { $0 != UInt8(ascii: "\r") }.split(separator: UInt8(ascii: " "))
    // A client that polls uses the connection again.
    guard line.count == 3, !String(decoding: line[1], as: UTF8.self).contains("after="),
      let parts = PathPattern.decodedParts(
        of: String(decoding: line[1].prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
      )
    else { return false }
    return gate.router.match(parts)?.routes.contains { $0.produces.contains("text/event-stream") } == true
  }

  /// Encodes a response that libmicrohttpd does not send.
  func encoded(_ response: HTTPResponse) -> [UInt8] {
    counterStore.countAnswer(status: response.status)
    let reply = response.prepared(for: HTTPRequestHead(method: "GET", path: nil, query: nil))
    let phrase = MHD_get_reason_phrase_for(UInt32(reply.status)).map { String(cString: $0) } ?? ""
    let content = reply.content?.withUnsafeBytes { Array($0) } ?? []
    counterStore.countBytes(content.count)
    let fields = reply.headers + [HTTPField("Content-Length", String(content.count))]
    let lines = ["HTTP/1.1 \(reply.status) \(phrase)"] + fields.map { "\($0.name): \($0.value)" }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + content
  }

  /// Rejects an address that is invalid, not of this machine, or one that others could reach without a token, and more
  /// connections than the process may have.
  package static func check(_ configuration: HTTPServerConfiguration) throws(HTTPServerError) {
    let address = try checkedAddress(configuration)
    try checkOpenFiles(configuration)
    // Any port, because another server with this configuration may use the configured one.
    close(try ListeningSocket(address, port: 0, sendBytes: 0, receiveBytes: 0).descriptor)
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
    guard address.isLoopback || !configuration.tokens.isEmpty || configuration.tls?.clientAuthority != nil
    else {
      throw HTTPServerError(
        .tokenNeeded,
        """
        others could connect to \(address) and nothing says who may; set a token that they must show, \
        keys of tokens, or an authority for their certificates, or listen on 127.0.0.1
        """
      )
    }
    return address
  }

  /// Raises the limit of open files to what the connections need, as far as the system allows.
  package static func checkOpenFiles(_ configuration: HTTPServerConfiguration) throws(HTTPServerError) {
    let needed = configuration.maxConnections + 2 * HTTPConnectionTable.reserve + otherFiles
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
