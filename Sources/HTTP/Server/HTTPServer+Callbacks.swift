internal import CMicrohttpd
import Glibc
import Synchronization

// The callbacks that libmicrohttpd calls on its threads. Free functions: a closure that C calls must not inherit actor
// isolation.

/// A connection has started or ended.
func handleHTTPConnection(
  _ owner: UnsafeMutableRawPointer?,
  _ connection: OpaquePointer?,
  _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ change: MHD_ConnectionNotificationCode,
  isBrief: Bool
) {
  guard let owner, let connection, let context else { return }
  let server = Unmanaged<HTTPServer>.fromOpaque(owner).takeUnretainedValue()
  if change == .CONNECTION_NOTIFY_STARTED {
    let address = IPAddress(feedstore_http_client_address(connection))
    let socket = feedstore_http_socket(connection)
    context.pointee = Unmanaged.passRetained(HTTPConnection(address, socket: socket, isBrief: isBrief))
      .toOpaque()
    server.connections.change { table, _ in table.serve(socket) }
  } else if let known = context.pointee {
    context.pointee = nil
    // Called before libmicrohttpd closes the socket.
    let socket = Unmanaged<HTTPConnection>.fromOpaque(known).takeRetainedValue().socket
    server.connections.change { table, _ in table.close(socket) }
  }
}

/// A request's head, a part of its content, or its end has arrived.
func handleHTTPRequest(
  _ owner: UnsafeMutableRawPointer?,
  _ connection: OpaquePointer?,
  _ path: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?,
  _ version: UnsafePointer<CChar>?,
  _ content: UnsafePointer<CChar>?,
  _ contentSize: UnsafeMutablePointer<Int>?,
  _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let owner, let connection, let path, let method, let contentSize, let context else { return .NO }
  let server = Unmanaged<HTTPServer>.fromOpaque(owner).takeUnretainedValue()
  // libmicrohttpd finishes its round of ready connections before it stops.
  guard !server.isClosing.load(ordering: .relaxed) else { return .NO }
  guard let known = context.pointee else {
    let isHTTP10 = version.map { String(cString: $0) == "HTTP/1.0" } ?? false
    let exchange = server.begin(connection, method: method, path: path, isHTTP10: isHTTP10)
    context.pointee = Unmanaged.passRetained(exchange).toOpaque()
    // A rejected request need not send its content. Without content, the response waits for the end of the request;
    // otherwise the connection could not be reused.
    if case .failure = exchange.admission, exchange.head.hasContent {
      return server.answer(exchange, connection)
    }
    return .YES
  }
  let exchange = Unmanaged<HTTPExchange>.fromOpaque(known).takeUnretainedValue()
  guard contentSize.pointee == 0 else {
    exchange.append(UnsafeRawBufferPointer(start: content, count: contentSize.pointee))
    contentSize.pointee = 0
    return .YES
  }
  if exchange.head.hasContent, exchange.later == nil {
    server.connections.beginAnswer(feedstore_http_socket(connection))
  }
  return server.answer(exchange, connection)
}

/// A response has been sent, or never will be.
func handleHTTPCompletion(
  _ owner: UnsafeMutableRawPointer?,
  _ connection: OpaquePointer?,
  _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
  _ end: MHD_RequestTerminationCode
) {
  guard let owner, let connection, let known = context?.pointee else { return }
  context?.pointee = nil
  let server = Unmanaged<HTTPServer>.fromOpaque(owner).takeUnretainedValue()
  Unmanaged<HTTPExchange>.fromOpaque(known).release()
  if end == .REQUEST_TERMINATED_COMPLETED_OK {
    let socket = feedstore_http_socket(connection)
    let bytes = SocketBytes.received(socket)
    server.connections.change { table, now in table.endAnswer(socket, receivedBytes: bytes, at: now) }
  }
  server.exchangeCount.subtract(1, ordering: .sequentiallyConsistent)
}

extension HTTPServer {
  /// Reads a request's head and decides on it.
  fileprivate func begin(
    _ connection: OpaquePointer,
    method: UnsafePointer<CChar>,
    path: UnsafePointer<CChar>,
    isHTTP10: Bool
  ) -> HTTPExchange {
    exchangeCount.add(1, ordering: .sequentiallyConsistent)
    let socket = feedstore_http_socket(connection)
    connections.beginAnswer(socket)
    let head = HTTPRequestHead(
      connection,
      method: String(cString: method),
      path: String(validatingCString: path),
      isHTTP10: isHTTP10
    )
    guard !gate.knowsClients || feedstore_http_client_is_trusted(connection) != 0 else {
      return HTTPExchange(head: head, admission: .failure(Self.unknownClient))
    }
    let admission = Result { try gate.admit(head, tokens) }
    if case .success = admission, head.hasContent {
      connections.change { table, now in table.awaitContent(socket, at: now) }
    }
    return HTTPExchange(head: head, admission: admission)
  }

  private static func known(_ connection: OpaquePointer) -> HTTPConnection? {
    feedstore_http_socket_context(connection).map {
      Unmanaged<HTTPConnection>.fromOpaque($0).takeUnretainedValue()
    }
  }

  private static let unknownClient = HTTPRefusal(
    403,
    "client-certificate-needed",
    "show a certificate that is valid and signed by an authority that this server knows"
  )

  /// Queues the response to a request.
  fileprivate func answer(_ exchange: HTTPExchange, _ connection: OpaquePointer) -> MHD_Result {
    let given = exchange.response()
    if let begin = given.beginWaiting { return wait(for: begin, exchange, connection) }
    if exchange.later != nil {
      let socket = feedstore_http_socket(connection)
      connections.change { table, now in table.endStream(socket, at: now) }
    }
    var reply = given.prepared(for: exchange.head, gate.origins)
    let response: OpaquePointer?
    if let openStream = reply.openStream, exchange.head.method != "HEAD" {
      if let stream = openedStream(connection, exchange) {
        openStream(stream)
        response = streamResponse(stream, feedstore_http_socket(connection))
      } else {
        let detail = "\(configuration.maxStreams) streams are open, which is the maximum; try again later"
        reply = unavailable(code: "too-many-streams", detail: detail)
          .prepared(for: exchange.head, gate.origins)
        response = contentResponse(reply.content)
      }
    } else {
      let byteCount = exchange.head.method == "HEAD" ? 0 : reply.content?.count ?? 0
      if byteCount > 0, let onTransfer = reply.onTransfer, let content = reply.content {
        let transfer = HTTPTransfer(content)
        transfer.keep(onTransfer(transfer, content.count))
        // It can be stopped early.
        let source = HTTPSource(take: transfer.take, release: transfer.cut)
        response = source.response(size: byteCount, blockBytes: 16 << 10)
      } else {
        response = contentResponse(reply.content)
      }
      counterStore.countBytes(byteCount)
      let socket = feedstore_http_socket(connection)
      connections.change { table, _ in table.send(byteCount, to: socket) }
    }
    guard let response else { return .NO }
    // libmicrohttpd holds its own reference.
    defer { MHD_destroy_response(response) }
    if Self.known(connection)?.isBrief == true {
      _ = MHD_add_response_header(response, "Connection", "close")
    }
    for field in reply.headers { _ = MHD_add_response_header(response, field.name, field.value) }
    counterStore.countAnswer(status: reply.status)
    return MHD_queue_response(connection, UInt32(reply.status), response)
  }

  /// Suspends a connection until its response arrives. Then libmicrohttpd asks for it again.
  private func wait(
    for begin: @Sendable (HTTPLaterResponse) -> Void,
    _ exchange: HTTPExchange,
    _ connection: OpaquePointer
  ) -> MHD_Result {
    let later = HTTPLaterResponse(connection)
    exchange.later = later
    // Like a stream, it has no separate deadline.
    let socket = feedstore_http_socket(connection)
    connections.change { table, now in table.beginStream(socket, at: now) }
    MHD_suspend_connection(connection)
    begin(later)
    return .YES
  }

  func unavailable(code: String, detail: String) -> HTTPResponse {
    var response = HTTPResponse.problem(status: 503, code: code, detail: detail)
    response.headers = [HTTPField("Retry-After", String(configuration.retryAfterSeconds))]
    return response
  }

  /// Opens a stream to the connection's client; nil if the limit is reached.
  private func openedStream(_ connection: OpaquePointer, _ exchange: HTTPExchange) -> EventStream? {
    let result = streams.add(from: Self.known(connection)?.addressGroup ?? "") { number in
      EventStream(
        number: number,
        queueLimit: configuration.maxStreamQueueBytes,
        retryMilliseconds: configuration.retryMilliseconds,
        counters: counterStore,
        rights: exchange.rights
      )
    }
    guard let (stream, evicted) = result else { return nil }
    evicted?.cut()
    counterStore.countStream()
    let socket = feedstore_http_socket(connection)
    let isSent = configuration.tls == nil
    stream.attach(
      connection,
      isSent ? EventOutlet(sender, socket: socket, isChunked: !exchange.head.isHTTP10) : nil
    )
    guard socket >= 0 else { return stream }
    connections.change { table, now in table.beginStream(socket, at: now) }
    // Called at the latest when libmicrohttpd has finished with the response, before it closes the socket.
    stream.onEnd { [connections] in connections.change { table, now in table.endStream(socket, at: now) } }
    sender.watch(socket, of: stream, alsoRoom: isSent)
    return stream
  }

  /// A response whose content is written to a stream.
  private func streamResponse(_ stream: EventStream, _ socket: Int32) -> OpaquePointer? {
    let source = HTTPSource(
      take: { _, target in stream.take(into: target) },
      release: { [self] in
        sender.forget(socket)
        stream.detach()
        // The stream counts as open until its owner has been notified of the end.
        streams.remove(stream)
      }
    )
    return source.response(size: nil, blockBytes: 1024)
  }

  /// A response whose content is sent from its place in memory.
  private func contentResponse(_ content: HTTPContent?) -> OpaquePointer? {
    let content = content ?? HTTPContent("")
    let owner = Unmanaged.passRetained(content)
    let response = MHD_create_response_from_buffer_with_free_callback_cls(
      content.count,
      content.address,
      { @Sendable in if let content = $0 { Unmanaged<HTTPContent>.fromOpaque(content).release() } },
      owner.toOpaque()
    )
    if response == nil { owner.release() }
    return response
  }
}
