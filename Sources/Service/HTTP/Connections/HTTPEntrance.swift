internal import CEpoll
import Glibc

/// A thread that takes connections in, reads the head of each one's first request without taking it from the socket,
/// and hands those over that are whole and without fault. It also sees to it that nobody takes longer than may be.
///
/// Until its head is whole, a connection costs its socket and a few bytes here.
final class HTTPEntrance: @unchecked Sendable {
  // Unchecked: what is not constant belongs to the thread.
  private let listening: ListeningSocket
  private let connections: HTTPConnections
  private let limits: HTTPHeadLimits
  /// Whether clients have to speak TLS, of which nothing can be read here.
  private let isTLS: Bool
  private let refuse: @Sendable (HTTPHeadFault) -> [UInt8]
  private let unavailable: @Sendable (String) -> [UInt8]
  private let serve: @Sendable (Int32, IPAddress?, UInt16) -> Bool
  private let tickMilliseconds: Int64
  private let epoll: Int32
  /// Readable when the thread is to end.
  private let ending: Int32
  private var thread = pthread_t()
  /// Those that are not handed over, by their sockets.
  private var guests: [Int32: Guest] = [:]
  private var buffer: [UInt8]
  /// Whether connections are waited for; not while there are no descriptors for them.
  private var isAccepting = true

  private struct Guest {
    let address: IPAddress?
    let port: UInt16
    var check: HTTPHeadCheck
    var seenBytes = 0
    /// Bytes that are still thrown away after it was answered; nil before that.
    var bytesToDrop: Int?
  }

  private static let endingNumber = UInt64.max
  private static let listeningNumber = UInt64.max - 1
  /// Connections taken in before the others are looked after again.
  private static let acceptsAtOnce = 64
  /// A client that is refused is to read the answer. If it still sends, closing at once could take it away.
  private static let bytesToDrop = 4 << 20

  /// Starts the thread, which owns the listening socket from then on.
  ///
  /// - Parameters:
  ///   - refuse: Makes an answer, to be sent as it is.
  ///   - unavailable: Makes the answer to who finds no place.
  ///   - serve: Takes over a socket; if it returns false, the socket is closed.
  /// - Throws: ``HTTPServerError`` if there is no descriptor left; the socket is closed then.
  init(
    _ listening: ListeningSocket,
    _ connections: HTTPConnections,
    _ limits: HTTPHeadLimits,
    isTLS: Bool = false,
    tickMilliseconds: Int64,
    refuse: @escaping @Sendable (HTTPHeadFault) -> [UInt8],
    unavailable: @escaping @Sendable (String) -> [UInt8],
    serve: @escaping @Sendable (Int32, IPAddress?, UInt16) -> Bool
  ) throws(HTTPServerError) {
    self.listening = listening
    self.connections = connections
    self.limits = limits
    self.isTLS = isTLS
    self.refuse = refuse
    self.unavailable = unavailable
    self.serve = serve
    self.tickMilliseconds = tickMilliseconds
    buffer = [UInt8](repeating: 0, count: limits.bytes + 1)
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    ending = eventfd(0, Int32(EFD_CLOEXEC))
    guard epoll >= 0, ending >= 0, feedstore_epoll_watch_input(epoll, ending, Self.endingNumber) == 0,
      feedstore_epoll_watch_input(epoll, listening.descriptor, Self.listeningNumber) == 0
    else {
      let reason = String(cString: strerror(errno))
      throw HTTPServerError(
        .system,
        "cannot wait for connections: \(reason); allow the process more open files (LimitNOFILE, ulimit -n)"
      )
    }
    // The thread owns a reference until it ends.
    let owner = Unmanaged.passRetained(self).toOpaque()
    let result = pthread_create(&thread, nil, { @Sendable in entranceThreadMain($0) }, owner)
    precondition(result == 0, "cannot start thread http-entrance: \(String(cString: strerror(result)))")
  }

  deinit {
    if epoll >= 0 { Glibc.close(epoll) }
    if ending >= 0 { Glibc.close(ending) }
    Glibc.close(listening.descriptor)
  }

  /// Refuses new connections, closes those that are not handed over, ends the thread and waits for it. To be called
  /// once.
  func stop() {
    var one: UInt64 = 1
    _ = write(ending, &one, MemoryLayout<UInt64>.size)
    pthread_join(thread, nil)
  }

  // MARK: The thread

  fileprivate func run() {
    ThreadName.set("http-entrance")
    var numbers = [UInt64](repeating: 0, count: 64)
    var due = MonotonicClock.milliseconds() + tickMilliseconds
    while true {
      // Without connections there is nothing to look at.
      let isQuiet = connections.count == 0 && isAccepting
      let wait = isQuiet ? -1 : max(0, due - MonotonicClock.milliseconds())
      let count = feedstore_epoll_wait(epoll, &numbers, Int32(numbers.count), Int32(clamping: wait))
      for number in numbers.prefix(Int(max(0, count))) {
        switch number {
        case Self.endingNumber: return end()
        case Self.listeningNumber: accept()
        default: look(Int32(number))
        }
      }
      guard MonotonicClock.milliseconds() >= due else { continue }
      tick()
      due = MonotonicClock.milliseconds() + tickMilliseconds
    }
  }

  private func end() {
    shutdown(listening.descriptor, Int32(SHUT_RDWR))
    for socket in guests.keys { close(socket) }
  }

  private func tick() {
    for (socket, connection) in connections.lookForExpired() {
      if connection.isServed {
        connections.shutDown(socket)
      } else if let guest = guests[socket] {
        if guest.bytesToDrop == nil, guest.seenBytes > 0 {
          let seconds = (MonotonicClock.milliseconds() - connection.since) / 1000
          answer(
            socket,
            refuse(
              HTTPHeadFault(
                status: 408,
                code: "head-too-slow",
                "the request's head was not complete after \(seconds) s"
              )
            )
          )
        } else {
          close(socket)
        }
      } else {
        // It was handed over, and libmicrohttpd has not begun with it, or has closed it without a word.
        connections.change { table, now in table.waitForServer(socket, at: now) }
      }
    }
    if !isAccepting {
      isAccepting = feedstore_epoll_watch_input(epoll, listening.descriptor, Self.listeningNumber) == 0
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
        // Until the next tick: the socket would be reported again and again.
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, listening.descriptor, nil)
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
    guests[socket] = Guest(address: address, port: port, check: HTTPHeadCheck(limits))
    guard feedstore_epoll_watch_news(epoll, socket, UInt64(socket)) == 0 else { return close(socket) }
    switch admission {
    case .dropped: break
    case .refused(let reason): answer(socket, unavailable(reason))
    case .admitted(let evicted):
      guard let evicted else { break }
      if guests[evicted] == nil {
        connections.shutDown(evicted)
      } else {
        close(evicted, telling: unavailable("there are too many connections, and this one sent no request"))
      }
    }
    if let excess = connections.change({ table, _ in table.excessLeaving() }) { close(excess) }
  }

  // MARK: Guests

  /// Looks at what a guest has sent.
  private func look(_ socket: Int32) {
    guard let guest = guests[socket] else { return }
    if guest.bytesToDrop != nil { return drop(socket) }
    let count = recv(socket, &buffer, buffer.count, Int32(MSG_PEEK | MSG_DONTWAIT))
    guard count > 0 else {
      if count == 0 || ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno) { close(socket) }
      return
    }
    if isTLS { return greet(socket, guest) }
    let verdict = buffer.withUnsafeBytes { buffer -> HTTPHeadVerdict? in
      guests[socket]?.check.read(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
    guests[socket]?.seenBytes = count
    switch verdict {
    case .complete: handOver(socket, guest)
    case .refused(let fault): answer(socket, refuse(fault))
    case .incomplete, nil:
      // Who has closed its side without a whole head sends no more of it.
      var state = pollfd(fd: socket, events: Int16(EPOLLRDHUP.rawValue), revents: 0)
      if poll(&state, 1, 0) == 1, state.revents != 0 { close(socket) }
    }
  }

  /// Hands a client over that begins with TLS. Until its first head is whole, it has no more time than others.
  private func greet(_ socket: Int32, _ guest: Guest) {
    guard buffer[0] == Self.handshakeRecord else { return answer(socket, refuse(Self.plainText)) }
    handOver(socket, guest)
  }

  /// What a record of TLS begins with that is part of a handshake.
  private static let handshakeRecord: UInt8 = 22
  private static let plainText = HTTPHeadFault(
    code: "https-only",
    "this port speaks HTTPS only: use an address that begins with https://"
  )

  private func handOver(_ socket: Int32, _ guest: Guest) {
    _ = epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nil)
    guests[socket] = nil
    if !isTLS { connections.beginAnswer(socket) }
    if !serve(socket, guest.address, guest.port) {
      // The socket is closed; only this thread could have reused its number for a connection.
      connections.change { table, _ in table.close(socket) }
    }
  }

  /// Sends an answer, after which nothing is taken.
  private func answer(_ socket: Int32, _ bytes: [UInt8]) {
    let excess = connections.change { table, now in
      table.leave(socket, at: now)
      return table.excessLeaving()
    }
    if let excess { close(excess) }
    guests[socket]?.bytesToDrop = Self.bytesToDrop
    // It fits into the buffer of a socket to which nothing was sent.
    _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    shutdown(socket, Int32(SHUT_WR))
    drop(socket)
  }

  /// Throws away what a client sends after its answer, so that it reads that before it learns that it is closed.
  private func drop(_ socket: Int32) {
    while let left = guests[socket]?.bytesToDrop, left > 0 {
      // TCP throws away what it does not copy.
      let count = recv(socket, nil, left, Int32(MSG_TRUNC | MSG_DONTWAIT))
      guard count > 0 else {
        if count == 0 || ![EAGAIN, EWOULDBLOCK, EINTR].contains(errno) { close(socket) }
        return
      }
      guests[socket]?.bytesToDrop = left - count
    }
    close(socket)
  }

  /// Sends an answer and closes the connection at once; whether the client gets it depends on what it still sends.
  private func close(_ socket: Int32, telling bytes: [UInt8]) {
    if let seen = guests[socket]?.seenBytes, seen > 0 {
      _ = recv(socket, nil, seen, Int32(MSG_TRUNC | MSG_DONTWAIT))
      _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    close(socket)
  }

  private func close(_ socket: Int32) {
    guests[socket] = nil
    connections.change { table, _ in table.close(socket) }
    Glibc.close(socket)
  }
}

/// The thread's entry. A free function: a closure that C calls must not inherit anybody's isolation.
private func entranceThreadMain(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let owner else { return nil }
  Unmanaged<HTTPEntrance>.fromOpaque(owner).takeRetainedValue().run()
  return nil
}
