internal import CEpoll
import Glibc
import OperatingSystem

/// A thread that accepts connections, and peeks at the head of each one's first request. It hands over connections
/// whose head is complete and valid, and enforces the deadlines of all connections.
///
/// Until its head is complete, a connection costs only its socket and a few bytes here.
final class HTTPEntrance: @unchecked Sendable {
  // Unchecked: mutable state is used only on the thread.
  private let listening: ListeningSocket
  /// It stops the thread in its deinitialiser.
  private unowned let server: HTTPServer
  private let connections: HTTPConnections
  /// Whether clients must use TLS; then their heads cannot be read here.
  private let isTLS: Bool
  private let thread: EpollThread
  /// Connections that have not been handed over, by socket.
  private var pending: [Int32: PendingConnection] = [:]
  private var buffer: [UInt8]
  /// Whether connections are accepted; false while no descriptors are available.
  private var isAccepting = true

  private struct PendingConnection {
    let address: IPAddress?
    let port: UInt16
    var check: HTTPHeadCheck
    var seenBytes = 0
    /// The remaining bytes to discard after an error response; nil before the response.
    var bytesToDrop: Int?
  }

  private static let listeningNumber = UInt64.max - 1
  /// The number of connections accepted before others are served again.
  private static let acceptsAtOnce = 64
  /// Input to discard after an error response. Closing a socket with unread input could prevent the client from reading
  /// the response.
  private static let bytesToDrop = 4 << 20

  /// Starts the thread, which owns the listening socket from now on.
  ///
  /// - Throws: ``HTTPServerError`` if no descriptor is available; the socket is closed then.
  init(_ listening: ListeningSocket, of server: HTTPServer) throws(HTTPServerError) {
    let configuration = server.configuration
    self.listening = listening
    self.server = server
    connections = server.connections
    isTLS = configuration.tls != nil
    buffer = [UInt8](repeating: 0, count: configuration.head.bytes + 1)
    do throws(HTTPServerError) {
      thread = try EpollThread("http-entrance")
    } catch {
      Glibc.close(listening.descriptor)
      throw error
    }
    guard thread.watchInput(listening.descriptor, number: Self.listeningNumber) else {
      throw EpollThread.noDescriptors
    }
    // The thread holds a reference until it ends.
    thread.start(
      // Often enough to meet deadlines within a tenth.
      tickMilliseconds: min(
        1000,
        max(10, min(configuration.headMilliseconds, configuration.answerMilliseconds) / 10)
      ),
      // Without connections there is nothing to check periodically.
      isQuiet: { self.connections.count == 0 && self.isAccepting },
      onEvent: { if $0 == Self.listeningNumber { self.accept() } else { self.look(Int32($0)) } },
      onTick: { self.tick() }
    )
  }

  deinit { Glibc.close(listening.descriptor) }

  /// Rejects new connections, closes those that have not been handed over, and waits for the thread to end. Call it
  /// once.
  func stop() {
    thread.stop()
    shutdown(listening.descriptor, Int32(SHUT_RDWR))
    for socket in pending.keys { close(socket) }
  }

  // MARK: The thread

  private func tick() {
    for (socket, connection) in connections.lookForExpired() {
      if connection.isServed {
        connections.shutDown(socket)
      } else if let waiting = pending[socket] {
        if waiting.bytesToDrop == nil, waiting.seenBytes > 0 {
          let seconds = (MonotonicClock.milliseconds() - connection.since) / 1000
          let detail = "the request's head was not complete after \(seconds) s"
          refuse(socket, HTTPHeadFault(status: 408, code: "head-too-slow", detail))
        } else {
          close(socket)
        }
      } else {
        // Handed over: libmicrohttpd has not started to serve it, or has closed it without notice.
        connections.change { table, now in table.waitForServer(socket, at: now) }
      }
    }
    if !isAccepting {
      isAccepting = thread.watchInput(listening.descriptor, number: Self.listeningNumber)
    }
  }

  // MARK: New connections

  private func accept() {
    for _ in 0..<Self.acceptsAtOnce {
      var storage = sockaddr_storage()
      var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let (socket, address, port) = withUnsafeMutableBytes(of: &storage) { storage in
        storage.withMemoryRebound(to: sockaddr.self) { target in
          let socket = Glibc.accept(listening.descriptor, target.baseAddress!, &size)
          let address = socket >= 0 ? IPAddress(UnsafePointer(target.baseAddress!)) : nil
          let port = UnsafeRawPointer(target.baseAddress!).loadUnaligned(fromByteOffset: 2, as: UInt16.self)
          return (socket, address, UInt16(bigEndian: port))
        }
      }
      if socket >= 0 {
        _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
        _ = fcntl(socket, F_SETFL, O_NONBLOCK)
        admit(socket, address, port)
      } else if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
        // Until the next tick; otherwise epoll would report the socket continuously.
        thread.forget(listening.descriptor)
        isAccepting = false
        return
      } else if errno == EAGAIN || errno == EWOULDBLOCK {
        return
      }
    }
  }

  private func admit(_ socket: Int32, _ address: IPAddress?, _ port: UInt16) {
    let group = address?.clientGroup ?? ""
    let admission = connections.change { table, now in table.open(socket, from: group, at: now) }
    if admission == .dropped {
      Glibc.close(socket)
      return
    }
    let check = HTTPHeadCheck(server.configuration.head)
    pending[socket] = PendingConnection(address: address, port: port, check: check)
    guard thread.watchNews(socket, number: UInt64(socket)) else { return close(socket) }
    switch admission {
    case .dropped: break
    case .refused(let reason): answer(socket, server.unavailable(reason))
    case .admitted(let evicted):
      guard let evicted else { break }
      if pending[evicted] == nil {
        connections.shutDown(evicted)
      } else {
        let reason = "there are too many connections, and this one sent no request"
        close(evicted, telling: server.unavailable(reason))
      }
    }
    if let excess = connections.change({ table, _ in table.excessLeaving() }) { close(excess) }
  }

  // MARK: Connections before the handover

  /// Examines a client's input.
  private func look(_ socket: Int32) {
    guard let waiting = pending[socket] else { return }
    if waiting.bytesToDrop != nil { return drop(socket) }
    let count = recv(socket, &buffer, buffer.count, Int32(MSG_PEEK | MSG_DONTWAIT))
    guard count > 0 else {
      if count == 0 || ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno) { close(socket) }
      return
    }
    if isTLS { return handOverTLS(socket, waiting) }
    let verdict = buffer.withUnsafeBytes { buffer -> HTTPHeadVerdict? in
      pending[socket]?.check.read(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    pending[socket]?.seenBytes = count
    switch verdict {
    case .complete(let length): handOver(socket, waiting, headBytes: length)
    case .refused(let fault): refuse(socket, fault)
    case .incomplete, nil:
      // A client that has closed its side will not complete its head.
      var state = pollfd(fd: socket, events: Int16(EPOLLRDHUP.rawValue), revents: 0)
      if poll(&state, 1, 0) == 1, state.revents != 0 { close(socket) }
    }
  }

  /// Hands over a client that starts a TLS handshake. The deadline for its first head still applies.
  private func handOverTLS(_ socket: Int32, _ waiting: PendingConnection) {
    guard buffer[0] == Self.handshakeRecord else { return refuse(socket, Self.plainText) }
    handOver(socket, waiting, headBytes: 0)
  }

  /// The first byte of a TLS handshake record.
  private static let handshakeRecord: UInt8 = 22
  private static let plainText = HTTPHeadFault(
    code: "https-only",
    "this port speaks HTTPS only: use an address that begins with https://"
  )

  private func handOver(_ socket: Int32, _ waiting: PendingConnection, headBytes: Int) {
    thread.forget(socket)
    pending[socket] = nil
    if !isTLS { connections.beginAnswer(socket) }
    let isServed = buffer.withUnsafeBytes { buffer in
      let head = UnsafeRawBufferPointer(rebasing: buffer[..<headBytes])
      return server.serve(socket, waiting.address, waiting.port, head)
    }
    if !isServed {
      // The socket is closed. Only this thread accepts connections, so its number has not been reused.
      connections.change { table, _ in table.close(socket) }
    }
  }

  private func refuse(_ socket: Int32, _ fault: HTTPHeadFault) {
    answer(socket, server.encoded(fault.response))
  }

  /// Sends a response, after which input is discarded.
  private func answer(_ socket: Int32, _ bytes: [UInt8]) {
    let excess = connections.change { table, now in
      table.leave(socket, at: now)
      return table.excessLeaving()
    }
    if let excess { close(excess) }
    pending[socket]?.bytesToDrop = Self.bytesToDrop
    // It fits into the empty send buffer of a new socket.
    _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    shutdown(socket, Int32(SHUT_WR))
    drop(socket)
  }

  /// Discards further input, so that the client can read the response before the connection is closed.
  private func drop(_ socket: Int32) {
    while let left = pending[socket]?.bytesToDrop, left > 0 {
      // With MSG_TRUNC, TCP discards the bytes without copying them.
      let count = recv(socket, nil, left, Int32(MSG_TRUNC | MSG_DONTWAIT))
      guard count > 0 else {
        if count == 0 || ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno) { close(socket) }
        return
      }
      pending[socket]?.bytesToDrop = left - count
    }
    close(socket)
  }

  /// Sends a response and closes the connection at once. The client may not receive it if it is still sending.
  private func close(_ socket: Int32, telling bytes: [UInt8]) {
    if let seen = pending[socket]?.seenBytes, seen > 0 {
      _ = recv(socket, nil, seen, Int32(MSG_TRUNC | MSG_DONTWAIT))
      _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    close(socket)
  }

  private func close(_ socket: Int32) {
    pending[socket] = nil
    connections.change { table, _ in table.close(socket) }
    Glibc.close(socket)
  }
}
